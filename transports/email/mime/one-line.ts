/** Removes control and invisible characters, for log lines and our own headers. */
export function oneLine(text: string): string {
  return withoutTags(text)
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
}

/** Unicode tag characters, which are invisible, except in flag emoji. */
const TAGS = /(\u{1f3f4}[\u{e0020}-\u{e007e}]{1,10}\u{e007f})|[\u{e0000}-\u{e007f}]/gu

/** Removes invisible tag characters, which models would read. */
export function withoutTags(text: string): string {
  return text.includes('\udb40') ? text.replaceAll(TAGS, '$1') : text
}
