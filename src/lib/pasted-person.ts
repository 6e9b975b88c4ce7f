/** An address in angle or square brackets: `Ada <ada@example.com>`, `Ada [mailto:ada@example.com]`. */
const IN_BRACKETS = /[<[]\s*(?:mailto:)?([^\s<>[\]?]+@[^\s<>[\]?]+)(?:\?[^\s<>[\]]*)?\s*[>\]]/gi
/** A link to an address: `mailto:ada@example.com?subject=Hello`. */
const LINK = /^mailto:([^\s?]+@[^\s?]+)/i
/** A user in the text of a Slack message: `<@U024BE7LH>`, `<@U024BE7LH|ada>`. */
const MENTION = /^<@([A-Z0-9]+)(?:\|[^>]*)?>$/
/** An address of a list of recipients, with what follows it. */
const IN_LIST = /^(\S+@[^\s,;]+)[,;]+$/

/**
 * The address or id in a text that was copied from a mail or from Slack: `ada@example.com` of
 * `"Ada Byron" <ada@example.com>` and of `mailto:ada@example.com`. Other texts, and those with
 * several addresses, stay as they are, without space around them.
 */
export function pastedPerson(text: string): string {
  const trimmed = text.trim()
  const [bracketed, ...others] = trimmed.matchAll(IN_BRACKETS)
  if (bracketed) return others.length === 0 ? decoded(bracketed[1] ?? '') : trimmed
  const linked = LINK.exec(trimmed)?.[1]
  if (linked !== undefined) return decoded(linked)
  return (MENTION.exec(trimmed) ?? IN_LIST.exec(trimmed))?.[1] ?? trimmed
}

/** Links have `%2B` for `+`. */
function decoded(address: string): string {
  try {
    return decodeURIComponent(address)
  } catch {
    return address
  }
}
