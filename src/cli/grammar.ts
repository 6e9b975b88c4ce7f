import { Command } from 'commander'
import { builtInSkills } from '../runtime/built-in.ts'

/** Nouns of the command line: `event wait` is the skill `event-wait`. */
const NOUNS = [
  'approval',
  'artifact',
  'audit',
  'call',
  'callback',
  'conversation',
  'dead-letter',
  'delegation',
  'event',
  'gateway',
  'job',
  'message',
  'pause',
  'person',
  'route',
  'run',
  'schedule',
  'send',
  'session',
  'skill',
  'slack',
  'state',
  'subscription',
  'task',
  'workbench',
]

/** Verbs that are phrases of the assistant rather than commands. */
const PHRASES = ['schedule-in-words']

type Spoken = { noun: string; verb: string; name: string; description: string }

const SPOKEN: readonly Spoken[] = builtInSkills.flatMap(({ name, description }) => {
  const noun = NOUNS.find((each) => name.startsWith(`${each}-`))
  if (noun === undefined || PHRASES.includes(name)) return []
  return [{ noun, verb: name.slice(noun.length + 1), name, description }]
})

/** A skill as people write it: `event wait`; the name itself for all but built-in skills. */
export function spokenName(name: string): string {
  const found = SPOKEN.find((one) => one.name === name)
  return found ? `${found.noun} ${found.verb.replaceAll('-', ' ')}` : name
}

/** The built-in skill that a command line begins with as noun and verb, and how many words that takes. */
export function skillIn(words: readonly string[]): { name: string; count: number } | undefined {
  for (const count of [3, 2]) {
    const name = words.slice(0, count).join('-')
    if (words.length >= count && SPOKEN.some((one) => one.name === name)) return { name, count }
  }
  return undefined
}

/** The verbs of a noun as a command whose help lists them; undefined for any other word. */
export function groupOf(noun: string): Command | undefined {
  const verbs = SPOKEN.filter((one) => one.noun === noun)
  if (verbs.length === 0) return undefined
  const group = new Command(`trivium ${noun}`).usage('<verb> [options]').exitOverride().helpCommand(false)
  for (const { verb, description } of verbs)
    group.command(verb.replaceAll('-', ' '), { hidden: false }).summary(description)
  return group
}
