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
const wordsSchema = z.strictObject({
  team: z.array(z.string()),
  customers: z.array(z.string()),
  facts: z.record(z.string(), z.array(z.string())),
  often: z.record(kindSchema, z.number()),
  dialogues: z.record(kindSchema, z.array(dialogueSchema)),
})

/** The content of `words.yaml`, with the addresses of its customers. */
export type Words = ReturnType<typeof readWords>

export function readWords(text: string) {
  const words = wordsSchema.parse(parse(text))
  const customers = words.customers.map((name) => {
    const login = name
      .toLowerCase()
      .normalize('NFD')
      .replaceAll(/[^a-z ]/g, '')
      .replaceAll(' ', '.')
    return { name, address: `${login}@mail.example` }
  })
  return { ...words, customers }
}

/** One message. Messages with the same `dialogue` belong together. */
export type Sending = {
  kind: z.output<typeof kindSchema>
  dialogue: string
  /** The sender, as the gateway names them. */
  from: string
  subject: string
  event: string
  said: Json
  /** Its signature does not match. */
  forged: boolean
}

/** One in this many deliveries is forged. */
const FORGED = 40

/**
 * Makes the messages of the demo, always the same for the same batches. A batch has at most one
 * message per dialogue, so its order does not matter.
 */
export function createStory(words: Words) {
  const { chance, pick } = createChance(17)
  const below = (most: number) => Math.floor(chance() * most)
  /** The rest of each open dialogue, longest waiting first. */
  const open: Sending[][] = []
  let begun = 0

  const begin = (): Sending[] => {
    begun += 1
    const dialogue = `demo-${begun}`
    const kind = pick(kindSchema.options, (one) => words.often[one])
    const { subject, event, turns } = pick(words.dialogues[kind], ({ weight }) => weight)
    const customer = pick(words.customers)
    const colleague = pick(words.team)
    const facts = new Map(Object.entries(words.facts).map(([name, values]) => [name, pick(values)]))
    const made = {
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
    for (const [name, value] of Object.entries(made)) facts.set(name, String(value))
    facts.set('event', phrase(event, facts))
    const head = phrase(subject, facts)
    const writers: Partial<Record<typeof kind, string>> = { mail: customer.address, chat: customer.name }
    return turns.map((turn, at) => ({
      ...{ kind, dialogue, from: writers[kind] ?? colleague, event: facts.get('event') ?? '' },
      subject: at > 0 && head ? `Re: ${head}` : head,
      said: fill(turn, facts),
      forged: below(FORGED) === 0,
    }))
  }

  const fill = (template: Json, facts: ReadonlyMap<string, string>): Json => {
    if (typeof template === 'string') return phrase(template, facts)
    if (Array.isArray(template)) return template.map((each) => fill(each, facts))
    if (!isJsonObject(template)) return template
    return Object.fromEntries(Object.entries(template).map(([name, each]) => [name, fill(each, facts)]))
  }

  /** Innermost braces first, because alternatives may contain facts. */
  const phrase = (template: string, facts: ReadonlyMap<string, string>): string => {
    let text = template.replaceAll(/\{(\w+)\}/g, (whole, name) => facts.get(name) ?? whole)
    for (let before = ''; before !== text; ) {
      before = text
      text = text.replaceAll(/\{([^{}]*\|[^{}]*)\}/g, (_, options: string) => pick(options.split('|')))
    }
    return text
  }

  return {
    batch(size: number): Sending[] {
      const going = open.splice(0, below(size + 1))
      while (going.length < size) going.push(begin())
      open.push(...going.map((turns) => turns.slice(1)).filter((rest) => rest.length > 0))
      return going.flatMap((turns) => turns.slice(0, 1))
    },
  }
}

/** A deterministic random generator (mulberry32), so that the demo is always the same. */
function createChance(seed: number) {
  let state = seed
  const chance = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  /** Picks by weight: 3 is three times as likely as 1. Throws for an empty list. */
  const pick = <T>(from: readonly T[], weightOf: (one: T) => number = () => 1): T => {
    let left = chance() * from.reduce((sum, one) => sum + weightOf(one), 0)
    for (const one of from) {
      left -= weightOf(one)
      if (left < 0) return one
    }
    throw new RangeError('there is nothing to pick from')
  }
  return { chance, pick }
}
