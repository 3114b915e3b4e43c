/**
 * An AbortController that is only made when its signal is asked for: every request can be aborted, making one takes
 * microseconds, and few are asked for.
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
