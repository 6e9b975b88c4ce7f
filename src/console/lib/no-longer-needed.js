/**
 * The reason of all aborts. The default reason is a new error for each, whose stack keeps the view
 * in memory that was left, as long as anything keeps the signal.
 */
export const NO_LONGER_NEEDED = new DOMException('Nobody waits for it any more.', 'AbortError')
