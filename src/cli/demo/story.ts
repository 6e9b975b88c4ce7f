import { hash } from 'node:crypto'
import { parse } from 'yaml'
import { z } from 'zod'
import { isJsonObject, type Json } from '../../core/json.ts'

/** The origin of a message: a person, or the webhook gateway of that name. */
const kindSchema = z.enum(['mail', 'slack', 'chat', 'cli', 'github', 'payments', 'orders', 'jobs'])
const dialogueSchema = z.strictObject({
  weight: z.number().default(1),
  subject: z.string().default(''),
  event: z.string().default(''),
  /** The texts of a person, or the bodies that a provider posts. */
  turns: z.array(z.json()).min(1),
})
/** The schema of `words.yaml`. */
const contentSchema = z.strictObject({
  team: z.array(z.string()),
  customers: z.array(z.string()),
  /** The alternatives for each `{name}` in a text. */
  facts: z.record(z.string(), z.array(z.string())),
  /** How often each kind occurs. */
  weights: z.record(kindSchema, z.number()),
  dialogues: z.record(kindSchema, z.array(dialogueSchema)),
})

/** The content of `words.yaml`, with the addresses of its customers. */
export type Content = ReturnType<typeof readContent>

/** Parses `words.yaml`. Throws for an invalid file. */
export function readContent(text: string) {
  const content = contentSchema.parse(parse(text))
  const customers = content.customers.map((name) => {
    const login = name
      .toLowerCase()
      .normalize('NFD')
      .replaceAll(/[^a-z ]/g, '')
      .replaceAll(' ', '.')
    return { name, address: `${login}@mail.example` }
  })
  return { ...content, customers }
}

/** One message. Messages with the same `dialogue` belong together. */
export type Sending = {
  kind: z.output<typeof kindSchema>
  dialogue: string
  /** The sender, as the gateway names them. */
  from: string
  subject: string
  event: string
  content: Json
  /** For webhooks: its signature does not match. Ignored for people, whose messages have none. */
  forged: boolean
}

/** One in this many messages is marked as forged. */
const FORGED_ONE_IN = 40
/** The seed of the random generator. */
const SEED = 17

/**
 * Makes the messages of the demo, always the same for the same batches. The messages of a batch may
 * be sent at the same time, because they are of different dialogues.
 */
export function createStory(content: Content) {
  const { random, pick } = createRandom(SEED)
  const below = (limit: number) => Math.floor(random() * limit)
  /** The rest of each open dialogue, longest waiting first. */
  const open: Sending[][] = []
  let count = 0

  const begin = (): Sending[] => {
    count += 1
    const dialogue = `demo-${count}`
    const kind = pick(kindSchema.options, (one) => content.weights[one])
    const { subject, event, turns } = pick(content.dialogues[kind], ({ weight }) => weight)
    const customer = pick(content.customers)
    const colleague = pick(content.team)
    const facts = new Map(Object.entries(content.facts).map(([name, values]) => [name, pick(values)]))
    const generated = {
      order: 40_000 + below(9_000),
      amount: `€${9 + below(240)}.50`,
      count: 2 + below(8),
      version: `2.${14 + below(6)}.${below(9)}`,
      name: customer.name.split(' ')[0],
      customer: customer.name,
      address: customer.address,
      colleague,
      login: colleague.split(' ')[0]?.toLowerCase(),
      id: hash('sha256', dialogue).slice(0, 24),
    }
    for (const [name, value] of Object.entries(generated)) facts.set(name, String(value))
    facts.set('event', fillText(event, facts))
    const filledSubject = fillText(subject, facts)
    const senders: Partial<Record<typeof kind, string>> = { mail: customer.address, chat: customer.name }
    return turns.map((turn, index) => ({
      kind,
      dialogue,
      from: senders[kind] ?? colleague,
      event: facts.get('event') ?? '',
      subject: index > 0 && filledSubject ? `Re: ${filledSubject}` : filledSubject,
      content: fill(turn, facts),
      forged: below(FORGED_ONE_IN) === 0,
    }))
  }

  const fill = (template: Json, facts: ReadonlyMap<string, string>): Json => {
    if (typeof template === 'string') return fillText(template, facts)
    if (Array.isArray(template)) return template.map((each) => fill(each, facts))
    if (!isJsonObject(template)) return template
    return Object.fromEntries(Object.entries(template).map(([name, each]) => [name, fill(each, facts)]))
  }

  /**
   * Replaces `{name}` with a fact, and `{one|another}` with one of the alternatives: innermost
   * first, as they may be nested.
   */
  const fillText = (template: string, facts: ReadonlyMap<string, string>): string => {
    let text = template.replaceAll(/\{(\w+)\}/g, (whole, name) => facts.get(name) ?? whole)
    let previous = ''
    while (previous !== text) {
      previous = text
      text = text.replaceAll(/\{([^{}]*\|[^{}]*)\}/g, (_, options: string) => pick(options.split('|')))
    }
    return text
  }

  return {
    /** The next `size` messages: of open dialogues, and of new ones. */
    batch(size: number): Sending[] {
      const dialogues = open.splice(0, below(size + 1))
      while (dialogues.length < size) dialogues.push(begin())
      open.push(...dialogues.map((turns) => turns.slice(1)).filter((rest) => rest.length > 0))
      return dialogues.flatMap((turns) => turns.slice(0, 1))
    },
  }
}

/** A deterministic random generator (mulberry32), so that the demo is always the same. */
function createRandom(seed: number) {
  let state = seed
  /** A number from 0 to below 1. */
  const random = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  /** Picks by weight: 3 is three times as likely as 1. Throws for an empty list. */
  const pick = <T>(from: readonly T[], weightOf: (one: T) => number = () => 1): T => {
    let left = random() * from.reduce((sum, one) => sum + weightOf(one), 0)
    for (const one of from) {
      left -= weightOf(one)
      if (left < 0) return one
    }
    throw new RangeError('there is nothing to pick from')
  }
  return { random, pick }
}
