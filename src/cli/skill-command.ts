import { Command } from 'commander'
import { closest, distance } from 'fastest-levenshtein'
import { TriviumError } from '../core/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts'
import { type CommandContext, EXIT_NOTHING } from './command.ts'
import { type Connection, connect, connectOrOpen } from './connection.ts'
import { loadFor } from './environs.ts'
import { followEvents } from './follow.ts'
import { pretty, show, usageOutput } from './terminal.ts'

/** Flags of the command itself. */
const RESERVED = new Set(['args', 'json', 'config', 'follow', 'help', 'version'])

/** Skills for which "nothing came in time" is an exit code of its own. */
const WAITING = new Set(['event-wait', 'gateway-receive'])

/**
 * Runs `trivium <skill> --arg value`: the flags are made from the skill's schema, as the daemon tells it.
 * `--args '{…}'` gives the arguments as JSON; single flags lie over it.
 */
export async function invokeByName(
  name: string,
  argv: readonly string[],
  context: CommandContext,
): Promise<void> {
  const connection = await open(name, argv, context)
  try {
    const skill = await find(connection, name, context)
    const command = commandFor(skill, name).configureOutput(usageOutput(context.terminal()))
    command.action(async () => {
      const { args: given, json: _json, config: _config, follow, ...flags } = command.opts<JsonObject>()
      const named = { ...parseArgs(given), ...readFlags(flags, propertiesOf(skill)) }
      const args = { ...named, ...readPositional(command.args, named, skill) }
      if (follow === true) await followEvents(connection, args, context.terminal())
      else await invokeAndShow(connection, name, args, context)
    })
    const own = argv.toSpliced(argv.indexOf(name), 1)
    await command.parseAsync(own, { from: 'user' })
  } finally {
    await connection.close()
  }
}

/** Invokes a skill and prints its result. */
export async function invokeAndShow(
  connection: Connection,
  name: string,
  args: JsonObject,
  context: CommandContext,
): Promise<void> {
  const result = await connection.invoke(name, args)
  show(context.terminal(), result, () => pretty(result))
  const isNothing = result === null || (Array.isArray(result) && result.length === 0)
  if (WAITING.has(name) && isNothing) context.exit(EXIT_NOTHING)
}

/** Parses `--args`. Throws `usage`. */
export function parseArgs(text: Json | undefined): JsonObject {
  if (text === undefined) return {}
  try {
    const value: Json = JSON.parse(String(text))
    if (isJsonObject(value)) return value
  } catch (cause) {
    throw new TriviumError(
      'usage',
      { details: `--args is no JSON: ${cause instanceof Error ? cause.message : cause}` },
      { cause },
    )
  }
  throw new TriviumError('usage', { details: '--args is a JSON object, such as {"topic":"jobs"}' })
}

/** Help needs no daemon; and without one a mistyped command must not be answered with "start a daemon". */
async function open(name: string, argv: readonly string[], context: CommandContext): Promise<Connection> {
  const environs = context.environs()
  if (argv.includes('--help') || argv.includes('-h')) return connectOrOpen(environs)
  try {
    return await connect(environs)
  } catch (error) {
    if (!(error instanceof TriviumError) || error.code !== 'not_running' || isCallbackRef(name)) throw error
    const { knownSkills, SHIPPED_SKILLS } = await import('../daemon/known-skills.ts')
    const { skills } = await loadFor(environs)()
    const known = (await knownSkills([...skills.folders, SHIPPED_SKILLS])).map((skill) => skill.name)
    if (!known.includes(name)) throw unknownCommand(name, [...known, ...context.commands()])
    throw error
  }
}

async function find(connection: Connection, name: string, context: CommandContext): Promise<JsonObject> {
  const skills = await connection.skills()
  const known = Array.isArray(skills) ? skills.filter(isJsonObject) : []
  const found = known.find((skill) => skill.name === name)
  // The daemon knows more than the list: refs of callbacks, and skills that are broken.
  if (found || isCallbackRef(name)) return found ?? { name, args: {} }
  await connection.describe(name).catch((error: unknown) => {
    if (error instanceof TriviumError && error.code === 'skill_broken') throw error
  })
  throw unknownCommand(name, [...known.map((skill) => String(skill.name)), ...context.commands()])
}

/** `{label}-{8 hex digits}`. */
function isCallbackRef(name: string): boolean {
  return /-[0-9a-f]{8}$/.test(name)
}

function unknownCommand(name: string, known: readonly string[]): TriviumError {
  const nearest = closest(name, known)
  const hint = distance(name, nearest) <= Math.max(2, name.length / 3) ? ` Did you mean ${nearest}?` : ''
  const details = `There is no command and no skill ${name}.${hint} \`trivium help\` and \`trivium skill list\` name them.`
  return new TriviumError('usage', { details })
}

function commandFor(skill: JsonObject, name: string): Command {
  const command = new Command(`trivium ${name}`)
    .description(String(skill.description ?? ''))
    .exitOverride()
    .showSuggestionAfterError()
    .option('--args <json>', 'all arguments as one JSON object')
    .option('--json', 'print JSON, for machines')
    .option('--config <file>', 'routes.yaml to use (TRIVIUM_CONFIG)')
    .argument('[values...]', positionalHelp(skill))
  const required = new Set(requiredOf(skill))
  for (const [property, schema] of Object.entries(propertiesOf(skill))) {
    const note = required.has(property) ? ' (required)' : ''
    command.option(flagFor(property, schema), `${describe(schema)}${note}`)
    if (isBoolean(schema)) command.option(`--no-${flagName(property)}`, `${property}: false`)
  }
  if (name === 'event-wait') command.option('--follow', 'go on until interrupted; one JSON line an event')
  return command
}

function flagFor(property: string, schema: JsonObject): string {
  return isBoolean(schema) ? `--${flagName(property)}` : `--${flagName(property)} <${typeName(schema)}>`
}

/** A property named as a flag that every skill has stands behind a word of its own: `--skill-args`. */
function flagName(property: string): string {
  return RESERVED.has(property) ? `skill-${kebab(property)}` : kebab(property)
}

function propertiesOf(skill: JsonObject): Record<string, JsonObject> {
  const properties = isJsonObject(skill.args) ? skill.args.properties : undefined
  if (!isJsonObject(properties)) return {}
  return Object.fromEntries(
    Object.entries(properties).map(([name, one]) => [name, isJsonObject(one) ? one : {}]),
  )
}

/** The required arguments in schema order: those that may be given without their flag. */
function requiredOf(skill: JsonObject): string[] {
  const required = isJsonObject(skill.args) ? skill.args.required : undefined
  if (!Array.isArray(required)) return []
  return Object.keys(propertiesOf(skill)).filter((property) => required.includes(property))
}

function positionalHelp(skill: JsonObject): string {
  const required = requiredOf(skill)
  return required.length === 0
    ? 'none'
    : `the required arguments may stand without their flags: ${required.join(', ')}`
}

/** Values without a flag fill the required arguments that no flag gave, in schema order; a list takes all that is left. */
function readPositional(values: readonly string[], given: JsonObject, skill: JsonObject): JsonObject {
  const properties = propertiesOf(skill)
  const args: JsonObject = {}
  let rest = values
  for (const property of requiredOf(skill).filter((name) => given[name] === undefined)) {
    const [first, ...others] = rest
    if (first === undefined) return args
    const schema = properties[property] ?? {}
    const takesAll = schema.type === 'array' && others.length > 0
    args[property] = takesAll ? [...rest] : readValue(first, schema, property)
    rest = takesAll ? [] : others
  }
  if (rest.length === 0) return args
  throw new TriviumError('usage', {
    details: `${JSON.stringify(rest[0])} belongs to no argument; give it with its flag (see --help).`,
  })
}

/** Text becomes what the schema says; what is no JSON stays text where the schema leaves it open. */
function readFlags(flags: JsonObject, properties: Record<string, JsonObject>): JsonObject {
  const args: JsonObject = {}
  for (const [property, schema] of Object.entries(properties)) {
    const value = flags[camel(flagName(property))]
    if (value !== undefined)
      args[property] = typeof value === 'string' ? readValue(value, schema, property) : value
  }
  return args
}

function readValue(text: string, schema: JsonObject, property: string): Json {
  if (schema.type === 'string') return text
  const parsed = tryJson(text)
  if (schema.type === undefined) return parsed === undefined ? text : parsed
  if (parsed === undefined && schema.type === 'array') return text.split(',')
  if (parsed === undefined) {
    throw new TriviumError('usage', {
      details: `--${kebab(property)} is a ${typeName(schema)}, not ${JSON.stringify(text)}`,
    })
  }
  return schema.type === 'array' && !Array.isArray(parsed) ? [text] : parsed
}

function tryJson(text: string): Json | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function describe(schema: JsonObject): string {
  const text = typeof schema.description === 'string' ? schema.description : ''
  return schema.default === undefined ? text : `${text} (default ${JSON.stringify(schema.default)})`
}

function typeName(schema: JsonObject): string {
  return typeof schema.type === 'string' ? schema.type : 'json'
}

function isBoolean(schema: JsonObject): boolean {
  return schema.type === 'boolean'
}

function kebab(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** commander's own spelling of a flag's value: `--if-version` is `ifVersion`. */
function camel(name: string): string {
  return kebab(name).replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}
