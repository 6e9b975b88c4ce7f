/** Without control characters, which must not reach a log line or a header of ours, and without what nobody sees. */
export function oneLine(text: string): string {
  return withoutTags(text)
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
}

/** Characters that no program shows (Unicode tags), other than in the flags of regions. */
const TAGS = /(\u{1f3f4}[\u{e0020}-\u{e007e}]{1,10}\u{e007f})|[\u{e0000}-\u{e007f}]/gu

/** Without characters that no program shows, and that models read all the same. */
export function withoutTags(text: string): string {
  return text.includes('\udb40') ? text.replaceAll(TAGS, '$1') : text
}
