/**
 * Errors of a mail server about the address itself: the status codes of RFC 3463 for a mailbox that
 * does not exist, moved, or is disabled, or else a 55x code with such words.
 */
const NO_MAILBOX =
  /\b5\.1\.(?:[1236]|10)\b|\b5\.2\.1\b|\b55[0-4]\b.*\b(?:no such|unknown|not exist|not found|disabled)\b/i

/** Why later mails to the same address fail too; undefined for other errors. */
export function unreachableIn(error: string): string | undefined {
  return NO_MAILBOX.test(error) ? 'the mailbox does not exist; send it to another address' : undefined
}
