"""SharePoint sites by Microsoft Graph: files of document libraries and site pages."""
