/** An action of a form or button: whether it runs, and why it did not succeed. */

export class Attempt {
  isRunning = $state(false);
  error = $state.raw<unknown>(null);
  /** Short text about the last success, for screen readers and people. */
  success = $state("");

  /** Run an action unless one runs; return whether it succeeded. */
  async run(action: () => Promise<unknown>, success = ""): Promise<boolean> {
    if (this.isRunning) return false;
    this.isRunning = true;
    this.error = null;
    this.success = "";
    try {
      await action();
      this.success = success;
      return true;
    } catch (error) {
      this.error = error;
      return false;
    } finally {
      this.isRunning = false;
    }
  }
}
