/** An attachment or an inline image. */
export type Part = {
  name: string
  type: string
  contentId?: string
  inline: boolean
  content: Uint8Array
}

/** The name of the part at `index`, from what the mail says. A name is a label; a path in it is somebody's attempt. */
export function partName(name: string, index: number): string {
  return oneLine(name).replace(/^.*[\\/]/, '') || `part-${index + 1}`
}

/** Control characters in names and subjects must not reach a log line or a header of ours. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
}

/** A content id without its angle brackets. */
export function bareContentId(id: string): string {
  return id.replace(/^<|>$/g, '')
}
