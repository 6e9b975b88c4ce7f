/** Mail addresses, and numbers as long as a phone number. */
const ADDRESS = /[^\s<>"'`]+@[^\s<>"'`]+|\+?\d(?:[ ()./-]?\d){6,}/g

/** The text with `…` in place of mail addresses and phone numbers. */
export function withoutAddresses(text: string): string {
  return text.replaceAll(ADDRESS, '…')
}
