import { parse } from 'yaml'
import { z } from 'zod'
import { deliveryOf, HOOKS, type Hook } from './hooks.ts'
import { CUSTOMERS, type Customer, type Facts, TEAM } from './people.ts'
import { createRandom } from './random.ts'

/** One thing that comes in. What has the same `dialogue` belongs together; after the `last` of it nothing more comes. */
export type Sending = { dialogue: string; last: boolean; turn: Turn }

export type Turn =
  | { by: 'mail'; from: Customer; subject: string; text: string }
  | { by: 'slack'; user: string; channel: string; text: string }
  | { by: 'chat'; from: Customer; text: string }
  | { by: 'cli'; from: string; text: string }
  | { by: 'hook'; hook: Hook; event: string; body: object; forged: boolean }

const dialogues = z.array(
  z.strictObject({
    weight: z.number().default(1),
    subject: z.string().default(''),
    channel: z.string().default(''),
    turns: z.array(z.string()).min(1),
  }),
)
const wordsSchema = z.strictObject({
  ...{ mail: dialogues, slack: dialogues, chat: dialogues, cli: dialogues },
  ...{ product: z.array(z.string()), city: z.array(z.string()) },
})

/** How often each kind of dialogue begins. */
const KINDS = [
  { kind: 'mail', weight: 14 },
  { kind: 'slack', weight: 12 },
  { kind: 'chat', weight: 12 },
  { kind: 'cli', weight: 4 },
  ...HOOKS,
] as const

/** So many batches lie between two turns of a dialogue, at most. */
const LONGEST_PAUSE = 5
/** One delivery in so many was not signed by who it says it is from. */
const FORGED = 40

/**
 * What comes in at the demo, always the same for the same batches. No two of a batch belong to one dialogue: their order means nothing.
 * `text`: the file with the words.
 */
export function createStory(text: string) {
  const words = wordsSchema.parse(parse(text))
  const random = createRandom(17)
  let open: { turns: Sending[]; due: number }[] = []
  let [made, batches] = [0, 0]

  const begin = (): Sending[] => {
    made += 1
    const turns = turnsOf(random.weighted(KINDS).kind)
    return turns.map((turn, at) => ({ dialogue: `demo-${made}`, last: at === turns.length - 1, turn }))
  }

  const turnsOf = (kind: (typeof KINDS)[number]['kind']): Turn[] => {
    const from = random.pick(CUSTOMERS)
    const facts: Facts = {
      order: String(40_000 + random.below(9_000)),
      product: random.pick(words.product),
      city: random.pick(words.city),
      amount: `€${9 + random.below(240)}.${random.pick(['00', '50', '90'])}`,
      count: String(2 + random.below(8)),
      version: `2.${14 + random.below(6)}.${random.below(9)}`,
      name: from.name.split(' ')[0] ?? from.name,
    }
    if (kind !== 'mail' && kind !== 'slack' && kind !== 'chat' && kind !== 'cli') {
      return [
        {
          by: 'hook',
          hook: kind,
          ...deliveryOf(kind, random, facts, from),
          forged: random.below(FORGED) === 0,
        },
      ]
    }
    const said = random.weighted(words[kind])
    const texts = said.turns.map((turn) => phrase(turn, facts))
    const subject = phrase(said.subject, facts)
    const { id: user } = random.pick(TEAM)
    if (kind === 'mail')
      return texts.map((text, at) => ({ by: kind, from, subject: at > 0 ? `Re: ${subject}` : subject, text }))
    if (kind === 'slack') return texts.map((text) => ({ by: kind, user, channel: said.channel, text }))
    if (kind === 'chat') return texts.map((text) => ({ by: kind, from, text }))
    return texts.map((text) => ({ by: kind, from: user, text }))
  }

  /** The innermost braces first: alternatives may name facts. */
  const phrase = (template: string, facts: Facts): string => {
    const known = new Map(Object.entries(facts))
    let text = template.replaceAll(/\{(\w+)\}/g, (whole, name) => known.get(name) ?? whole)
    for (let before = ''; before !== text; ) {
      before = text
      text = text.replaceAll(/\{([^{}]*\|[^{}]*)\}/g, (_, options: string) => random.pick(options.split('|')))
    }
    return text
  }

  return {
    batch(size: number): Sending[] {
      batches += 1
      const due = open.filter((each) => each.due <= batches).slice(0, size)
      const going = [...due]
      for (let left = size - due.length; left > 0; left -= 1) going.push({ turns: begin(), due: 0 })
      const rest = open.filter((each) => !due.includes(each))
      const sendings = going.flatMap(({ turns }) => turns.slice(0, 1))
      const more = going.filter(({ turns }) => turns.length > 1)
      const next = more.map(({ turns }) => ({
        turns: turns.slice(1),
        due: batches + 1 + random.below(LONGEST_PAUSE),
      }))
      open = [...rest, ...next]
      return sendings
    },
  }
}
