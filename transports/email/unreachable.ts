/** The status codes of RFC 3463 for a mailbox that does not exist, moved, or is disabled. */
const NO_MAILBOX = /\b5\.1\.(?:[1236]|10)\b|\b5\.2\.1\b/
/** The status codes for something else, such as the sender (5.1.8) or the policy of the server (5.7.x). */
const OTHER_CAUSE = /\b5\.(?:1\.[4-9]|2\.[2-9]|[3-7]\.\d+)\b/
/** What servers without these codes say about such a mailbox. */
const WORDS = /\b55[0-4]\b.*\b(?:no such|unknown|not exist|not found|disabled)\b/i

/** Why later mails to the same address fail too; undefined for other errors. */
export function unreachableIn(error: string): string | undefined {
  const isAddress = NO_MAILBOX.test(error) || (WORDS.test(error) && !OTHER_CAUSE.test(error))
  return isAddress ? 'the mailbox does not exist; send it to another address' : undefined
}
