/** Kinds of unfinished things that an erasure takes along: one, and several. */
const OPEN_KINDS = {
  approvals: ['open approval', 'open approvals'],
  'planned messages': ['planned message', 'planned messages'],
  schedules: ['schedule', 'schedules'],
  messages: ['message that waits or is tried again', 'messages that wait or are tried again'],
  'dead letters': ['message that failed (a dead letter)', 'messages that failed (dead letters)'],
  'undelivered replies': [
    'reply that could not be delivered (a dead letter)',
    'replies that could not be delivered (dead letters)',
  ],
  'failed pushes': ['push that failed (a dead letter)', 'pushes that failed (dead letters)'],
  replies: ['reply that is not sent yet', 'replies that are not sent yet'],
  pushes: ['push that is not delivered yet', 'pushes that are not delivered yet'],
  'pushes again': ['push that a replay sends again', 'pushes that a replay sends again'],
  conversations: [
    'conversation that a colleague has taken over',
    'conversations that colleagues have taken over',
  ],
  'delegated work': ['piece of open work for others', 'pieces of open work for others'],
  calls: ['call that may not have ended', 'calls that may not have ended'],
} as const satisfies Record<string, readonly [string, string]>

export type OpenKind = keyof typeof OPEN_KINDS

const isKnown = (kind: string): kind is OpenKind => Object.hasOwn(OPEN_KINDS, kind)

/** `1 open approval`, `2 planned messages`. */
export function countedOpen(kind: string, count: number): string {
  const [one, several] = isKnown(kind) ? OPEN_KINDS[kind] : [kind, kind]
  return `${count.toLocaleString('en')} ${count === 1 ? one : several}`
}

/** What is unfinished, by kind, in the order in which it is shown. `open`: counts by kind. */
export function openCounts(open: Readonly<Record<string, unknown>>): { kind: string; count: number }[] {
  const known = Object.keys(OPEN_KINDS)
  return Object.entries(open)
    .map(([kind, count]) => ({ kind, count: Number(count) }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => known.indexOf(a.kind) - known.indexOf(b.kind))
}

/** Maximum number of things of a kind that a sentence names. */
const MAX_NAMED = 5

/** An unfinished thing, as the counts of a person have it. */
type Item = Readonly<Record<string, unknown>>
/** How a time (Unix ms) and an author are shown. */
type Shown = { time(at: unknown): string; author(by: unknown): string }

/**
 * A sentence for each kind of unfinished things: `1 open approval goes too: Refund 12 EUR`.
 */
export function openSentences(
  open: Readonly<Record<string, unknown>>,
  items: readonly Item[],
  shown: Shown,
): string[] {
  return openCounts(open).map(({ kind, count }) => {
    const titles = openTitles({ kind, count }, items, shown)
    return `${countedOpen(kind, count)} ${count === 1 ? 'goes' : 'go'} too${titles && `: ${titles}`}`
  })
}

/** The titles of the first things of a kind, each once: `crm (3); erp and 2 more`; '' without titles. */
export function openTitles(
  { kind, count }: { kind: string; count: number },
  items: readonly Item[],
  shown: Shown,
): string {
  const titles = items.filter((item) => item.kind === kind).flatMap((item) => openTitle(item, shown) ?? [])
  const counts = new Map<string, number>()
  for (const title of titles) counts.set(title, (counts.get(title) ?? 0) + 1)
  const named = [...counts].slice(0, MAX_NAMED)
  if (named.length === 0) return ''
  const more = count - named.reduce((sum, [, many]) => sum + many, 0)
  const words = named.map(([title, many]) => (many > 1 ? `${title} (${many})` : title)).join('; ')
  return more > 0 ? `${words} and ${more} more` : words
}

/** What an unfinished thing is called; undefined if it has only an id. */
export function openTitle(item: Item, shown: Shown): string | undefined {
  const { kind, title, gateway, conversation, by, at } = item
  if (kind === 'conversations') return `${title ?? `${gateway}/${conversation}`}, by ${shown.author(by)}`
  if (kind === 'messages' || typeof title !== 'string') return undefined
  return at === undefined ? title : `${title} (${shown.time(at)})`
}
