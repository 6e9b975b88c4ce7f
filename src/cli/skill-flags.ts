import { Command } from 'commander'
import { type ZodType, z } from 'zod'
import { type JsonObject, jsonObjectSchema } from '../core/json.ts'
import { type Skill, skillJsonSchema } from '../core/skill.ts'
import { builtInSkills } from '../daemon/built-in-skills.ts'
import { APPROVAL_ORDERS } from './approval-order.ts'
import { usage } from './command.ts'
import { CONFIRMED, helpOfYes } from './confirms-skill.ts'
import { formOfConversation } from './conversation-alone.ts'
import { examplesOf } from './examples.ts'
import { listGlobals } from './global-options.ts'
import { formOf, inCommandWords, spokenName } from './grammar.ts'
import { NARROW_HELP } from './narrow-help.ts'
import { addFlags, type Flag, flagsOf } from './operation-flags.ts'
import { VIEW_OPTION } from './saved-view.ts'
import { mayBeList, readValue } from './skill-value.ts'

/** The kind of the operations of Trivium. A skill of the project may have the name of one. */
export const BUILT_IN = 'built-in'

/** A skill as the daemon describes it: JSON Schemas of its arguments, and which are required. */
export const describedSkill = z.object({
  kind: z.string().exactOptional(),
  description: z.string().default(''),
  args: z
    .object({
      properties: z.record(z.string(), jsonObjectSchema).default({}),
      required: z.array(z.string()).default([]),
    })
    .prefault({}),
})

export type Described = z.output<typeof describedSkill>

/**
 * Makes the command of a skill, and returns its flags and `places`: the arguments that may be given
 * without their flags. `first`: the argument that its first word sets, as in `group replay QUEUE`.
 */
export function commandFor(
  name: string,
  { kind, description, args: { properties, required } }: Described,
  first?: string,
) {
  const others = positionalNames({ properties, required }).filter((each) => each !== first)
  const names = first === undefined ? others : [first, ...others]
  const places = names.map((each) => (required.includes(each) || each === first ? `<${each}>` : `[${each}]`))
  const shown = searchOfList(properties)
    ? places.map((place) => place.replace('[id]', '[search or id]'))
    : places
  const form = kind === BUILT_IN ? formOf(name, first) : undefined
  const spoken = form ? `${form.noun} ${form.verb.replaceAll('-', ' ')}` : spokenName(name)
  const command = new Command(`trivium ${spoken}`)
    .configureHelp(NARROW_HELP)
    .description(inCommandWords(form?.description ?? description))
    .usage(['[options]', ...(formOfConversation(name) ?? shown)].join(' '))
    .exitOverride()
    .showSuggestionAfterError()
    .option('--args <json>', 'all arguments as one JSON object')
    .argument('[values...]', helpOf(names))
  listGlobals(command)
  const examples = examplesOf(spokenName(name))
  if (examples !== '') command.addHelpText('after', examples)
  if (Object.hasOwn(CONFIRMED, name)) command.option('--yes', helpOfYes(name))
  if (name === 'message-retry') command.option('--no-wait', 'do not wait for the outcome (up to 5 s)')
  if (name === 'approval-list' && first === undefined)
    command.option('--sort <order>', `pending ones by ${APPROVAL_ORDERS.join(', ')}`)
  if (name === 'conversation-list') command.option(...VIEW_OPTION)
  if (name === 'cost') command.option('--csv', 'as CSV, for a spreadsheet')
  if (name === 'person-export')
    command.option(
      '--output <file>',
      'where to write the data; - is stdout. Default: a new file in this folder; with --json none',
    )
  if (name === 'job-show')
    command.option(
      '--follow',
      'wait until nothing of the job is in progress; exits with 1 if it or something failed',
    )
  if (name === 'job-show')
    command.option(
      '--output <file>',
      'save the proof of an erasure: a page (HTML), or JSON if the name ends in .json; - is stdout',
    )
  if (name === 'event-wait') command.option('--follow', 'continue until interrupted; one JSON line per event')
  const flags = flagsOf({ properties, required }, kind === BUILT_IN ? argsOfBuiltIn(name) : undefined, names)
  addFlags(command, flags, { properties, required })
  return { command, flags, places: names }
}

/** The command of a built-in skill, for help. */
export function commandOf(skill: Pick<Skill, 'name' | 'description' | 'args'>): Command {
  const args = skillJsonSchema(skill)
  return commandFor(skill.name, describedSkill.parse({ ...skill, args, kind: BUILT_IN })).command
}

/** How to give the arguments without flags. */
function helpOf([first, ...others]: readonly string[]): string {
  if (first === undefined) return ''
  // The usage names a single one.
  return others.length === 0 ? '' : `${[first, ...others].join(', ')}, in this order; or use their flags`
}

/** The schema of a built-in skill, with its declarations for the command line. */
export function argsOfBuiltIn(name: string): ZodType | undefined {
  return builtInSkills.find((skill) => skill.name === name)?.args
}

/** If no argument is required, the first of these that exists may be positional. */
const POSITIONAL = ['id', 'name', 'search', 'text', 'identity']

/** The arguments that may be positional: the required ones, else one of `POSITIONAL`. */
function positionalNames({ properties, required }: Described['args']): string[] {
  if (required.length > 0) return required
  return POSITIONAL.filter((name) => Object.hasOwn(properties, name)).slice(0, 1)
}

/**
 * Assigns positional values to the positional arguments that are not in `named`, in schema order. A
 * list and a text take all remaining values, and so does a search. Throws `usage` with the flags that are left for
 * further values.
 */
export function readPositional(
  values: readonly string[],
  named: JsonObject,
  schema: Described['args'],
  flags: readonly Flag[],
): JsonObject {
  const { properties } = schema
  const [word] = values
  const searched = word === undefined ? undefined : searchedBy(word, named, properties)
  if (searched !== undefined) return { [searched]: values.join(' ') }
  const args: JsonObject = {}
  let rest = values
  for (const property of positionalNames(schema).filter((name) => named[name] === undefined)) {
    const [first, ...others] = rest
    if (first === undefined) return args
    const propertySchema = properties[property] ?? {}
    const isText = takesWords(property, propertySchema, flags)
    const takesAll = (mayBeList(propertySchema) || isText) && others.length > 0
    const all = isText ? rest.join(' ') : [...rest]
    args[property] = takesAll ? all : readValue(first, propertySchema, property)
    rest = takesAll ? [] : others
  }
  if (rest.length === 0) return args
  throw usage(tooMany(rest[0] ?? '', { ...named, ...args }, flags))
}

/** Whether an argument is a text of several words: `text`, or declared with `words`. */
function takesWords(property: string, { type }: JsonObject, flags: readonly Flag[]): boolean {
  const isDeclared = flags.some((flag) => flag.takesWords && flag.places.some(([name]) => name === property))
  return type === 'string' && (property === 'text' || property === 'search' || isDeclared)
}

/** The beginning or end of an id, which may be a number of an order if it is short. */
const ID_PART = /^(?:[0-9a-f-]{8,36}|(?=.*[a-f-])[0-9a-f-]{4,36})$/i

type Properties = Described['args']['properties']

/**
 * The argument of a list that takes the words of a search, if its arguments have one: `search`, or
 * searches a list without the flag. Commands that act on `all` matches take words as ids.
 */
export function searchOfList({ search, what, text, limit, all }: Properties): string | undefined {
  if (all) return undefined
  if (search) return 'search'
  if (!limit) return undefined
  return what ? 'what' : text && 'text'
}

/**
 * The argument that takes words without a flag as a search of a list. Undefined if the words are an
 * id, or the list cannot be searched.
 */
export function searchedBy(word: string, named: JsonObject, properties: Properties): string | undefined {
  const search = searchOfList(properties)
  if (properties.id === undefined || search === undefined || named.id !== undefined) return undefined
  return named[search] === undefined && !ID_PART.test(word) ? search : undefined
}

/** Maximum number of flags in an error. */
const MOST_FLAGS = 6

/** Names the flags that are left, as one of them may be meant. */
function tooMany(value: string, given: JsonObject, flags: readonly Flag[]): string {
  const others = flags.filter(
    ({ option, places }) =>
      !option.hidden && !option.isBoolean() && places.every(([name = '']) => given[name] === undefined),
  )
  const names = others.slice(0, MOST_FLAGS).map(({ option }) => option.long)
  const more = others.length > MOST_FLAGS ? ', …' : ''
  const hint = names.length === 0 ? '' : ` Give it with its flag: ${names.join(', ')}${more}.`
  return `${JSON.stringify(value)} is one argument too many.${hint} --help shows the arguments.`
}
