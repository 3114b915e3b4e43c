/**
 * An AbortController that is created only when its signal is read: every request can be aborted, creating one takes
 * microseconds, and few signals are read.
 */
export class LazyAbort {
  private controller: AbortController | undefined;
  private isAborted = false;

  get aborted(): boolean {
    return this.isAborted;
  }

  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      if (this.isAborted) this.controller.abort();
    }
    return this.controller.signal;
  }

  abort(): void {
    this.isAborted = true;
    this.controller?.abort();
  }
}
