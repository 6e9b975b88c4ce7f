/**
 * How lists show what is open with a person, first what needs somebody most. `said`: one, and
 * several.
 */
const GROUPS = {
  failed: { said: ['failed', 'failed'], kind: 'bad' },
  answer: { said: ['unanswered', 'unanswered'], kind: 'warn' },
  approval: { said: ['approval', 'approvals'], kind: 'warn' },
  held: { said: ['taken over', 'taken over'], kind: 'warn' },
  paused: { said: ['paused', 'paused'], kind: 'warn' },
  retrying: { said: ['retrying', 'retrying'], kind: 'warn' },
  planned: { said: ['planned', 'planned'], kind: 'dim' },
  queued: { said: ['queued', 'queued'], kind: 'dim' },
  erasing: { said: ['being erased', 'being erased'], kind: 'busy' },
} as const satisfies Record<string, { said: readonly [string, string]; kind: string }>

export type OpenGroup = keyof typeof GROUPS

/** The words for a group in arguments: `failed`, `taken-over`. */
export function openWords(): string[] {
  return openGroupNames().map((group) => typedWord(GROUPS[group].said[0]))
}

/** The group of a word as it is typed or shown: `approval`, `approvals`, `taken over`. */
export function groupNamed(word: string): OpenGroup | undefined {
  const wanted = typedWord(word.trim().toLowerCase())
  return openGroupNames().find((group) => GROUPS[group].said.some((said) => typedWord(said) === wanted))
}

const typedWord = (said: string) => said.replaceAll(' ', '-')

/** An open thing, as `person-open` has it. */
export type OpenThing = {
  kind: string
  state: string
  failed?: boolean | undefined
  at: number
  /** Of a conversation: since when its sender waits for an answer (Unix ms), with any state. */
  waitingSince?: unknown
}

/** The states of things that did not fail, and their groups. */
const OF_STATE: Readonly<Record<string, OpenGroup>> = {
  waits: 'answer',
  approval: 'approval',
  'taken over': 'held',
  paused: 'paused',
  retrying: 'retrying',
  replying: 'retrying',
  planned: 'planned',
  'being erased': 'erasing',
}

function groupOf({ kind, state, failed }: OpenThing): OpenGroup {
  if (failed) return 'failed'
  return kind === 'approval' ? 'approval' : (OF_STATE[state] ?? 'queued')
}

/** Whether a thing is in a group. Who waits is unanswered too if a colleague took over or a reply failed. */
export function isInGroup(thing: OpenThing, group: OpenGroup): boolean {
  return groupOf(thing) === group || (group === 'answer' && waitsInTalk(thing) !== undefined)
}

/** Since when a person waits for an answer or an approval (Unix ms); undefined if they do not. */
export function waitOf(thing: OpenThing): number | undefined {
  return waitsInTalk(thing) ?? (/^(answer|approval)$/.test(groupOf(thing)) ? thing.at : undefined)
}

function waitsInTalk({ waitingSince }: OpenThing): number | undefined {
  return typeof waitingSince === 'number' ? waitingSince : undefined
}

/** The word for one open thing: `failed`, `unanswered`; `waits, taken over` if its age is that of a wait. */
export function wordOf(thing: OpenThing): string {
  const group = groupOf(thing)
  const [said] = GROUPS[group].said
  return group === 'held' && waitsInTalk(thing) !== undefined ? `waits, ${said}` : said
}

/** The things of one group: how many, and since when the first is open (Unix ms). */
export type OpenCount<Thing> = {
  group: OpenGroup
  /** The colour of a badge. */
  kind: string
  things: Thing[]
  since: number
  /** `2 unanswered`, `approval`. */
  said: string
  /** `since` is the time since when somebody waits, and not that of the word: `waits 2 h, taken over`. */
  isWait?: true
}

/** The open things of a person by group. */
export function openGroups<Thing extends OpenThing>(things: readonly Thing[]): OpenCount<Thing>[] {
  const found = Map.groupBy(things, groupOf)
  return openGroupNames().flatMap((group) => {
    const ofGroup = found.get(group)
    if (!ofGroup) return []
    const { said, kind } = GROUPS[group]
    const [one, several] = said
    const text = ofGroup.length === 1 ? one : `${ofGroup.length} ${several}`
    const waits = group === 'held' ? ofGroup.flatMap((thing) => waitsInTalk(thing) ?? []) : []
    const isWait = waits.length > 0 && { isWait: true as const }
    const since = Math.min(...(isWait ? waits : ofGroup.map(({ at }) => at)))
    return [{ group, kind, things: ofGroup, since, said: text, ...isWait }]
  })
}

function openGroupNames(): OpenGroup[] {
  const all: Record<OpenGroup, unknown> = GROUPS
  return Object.keys(all).filter((name): name is OpenGroup => Object.hasOwn(GROUPS, name))
}
