/** Names that were looked up, by id; an id without one stands for itself. */
export type Names = ReadonlyMap<string, string>

/** Slack's markup as markdown; code stays as it is, but that its fences have lines of their own. */
export function mrkdwnToMarkdown(text: string, names: Names): string {
  return text
    .replaceAll(/^```\n?([\s\S]*?)\n?```$/gm, '```\n$1\n```')
    .split(/(```[\s\S]*?```|`[^`\n]+`)/)
    .map((part, index) => unescaped(references(index % 2 === 1 ? part : styles(part), names)))
    .join('')
}

/** The ids of people and channels that Slack's markup names without saying how they are called. */
export function idsIn(text: string): { users: Set<string>; channels: Set<string> } {
  const ids = (pattern: RegExp) => new Set(Array.from(text.matchAll(pattern), ([, id = '']) => id))
  return { users: ids(/<@([UW][A-Z0-9]+)>/g), channels: ids(/<#([CGD][A-Z0-9]+)\|?>/g) }
}

/** Slack escapes three characters in all texts. */
function unescaped(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}

function styles(text: string): string {
  return text
    .replaceAll(/^(\s*)[•◦▪]\uFE0E? /gm, '$1- ')
    .replaceAll(/(^|[\s(_~])\*(?=\S)([^*\n]+?)(?<=\S)\*(?=$|[\s).,;:!?_~])/gm, '$1**$2**')
    .replaceAll(/(^|[\s(_*])~(?=\S)([^~\n]+?)(?<=\S)~(?=$|[\s).,;:!?_*])/gm, '$1~~$2~~')
}

/** https://docs.slack.dev/messaging/formatting-message-text: what stands in angle brackets. */
function references(text: string, names: Names): string {
  return text.replaceAll(/<([^<>\n|]+)(?:\|([^<>\n]*))?>/g, (_, target: string, label?: string) => {
    const [kind, id] = [target.charAt(0), target.slice(1)]
    if (kind === '@' || kind === '#') return `${kind}${label || (names.get(id) ?? id)}`
    if (kind === '!') return special(id, label)
    const plain = target.replace(/^mailto:/, '')
    return label === undefined || label === plain || label === target ? plain : `[${label}](${target})`
  })
}

/**
 * What stands after the `!`: `here`, `subteam^S1`, `date^1700000000^{date}`. The mention stays one that people read;
 * as text it calls nobody, should it be said again.
 */
function special(command: string, label: string | undefined): string {
  const [kind = '', detail] = command.split('^')
  if (kind === 'date') return label || (detail ?? '')
  return `@${(label || (kind === 'subteam' ? detail : kind) || kind).replace(/^@/, '')}`
}
