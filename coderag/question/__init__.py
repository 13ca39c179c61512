"""Understanding of questions: intent, entities, filters, reports."""
