import type { Command } from 'commander'
import type { ZodType } from 'zod'
import type { Json, JsonObject } from '../core/json.ts'
import type { Printable } from '../lib/printed.ts'
import type { CommandContext } from './command.ts'
import { usage } from './command.ts'
import { ask, type Connection, type OpenConnection } from './connection.ts'
import { searchIn } from './extra-words.ts'
import { withFilters } from './filter-note.ts'
import { withFullIds } from './full-ids.ts'
import {
  addFlags,
  argumentsOf,
  type Flag,
  flagsOf,
  readFlags,
  underFlags,
  withFlagNames,
} from './operation-flags.ts'
import { withRanges } from './range-flags.ts'
import { searchedBy, searchOfList } from './skill-flags.ts'
import type { Terminal } from './terminal.ts'
import { refuseTimes } from './time-as-id.ts'

/**
 * Adds the flags of an operation to a command, made from the schema of its arguments. `without`:
 * arguments that the command sets itself. Returns the flags, for `withFlagNames`, and `read`, which
 * makes the arguments from the options of the command. With a terminal, it says which range they mean.
 */
export function operationFlags(
  command: Command,
  args: ZodType,
  without: readonly string[] = [],
): { read(options: object, terminal?: Terminal): JsonObject; flags: readonly Flag[] } {
  const schema = argumentsOf(args)
  const flags = flagsOf(schema, args).filter((flag) => !without.includes(argumentOf(flag)))
  for (const { option, isRequired } of flags) if (isRequired) option.makeOptionMandatory()
  addFlags(command, flags, schema)
  return {
    read: (options, terminal) => withRanges(readFlags(flags, Object(options)), flags, terminal),
    flags,
  }
}

/** The argument that a flag sets. */
const argumentOf = ({ places }: Flag) => places[0]?.[0] ?? ''

/** How a command runs an operation. */
type OperationCommand = {
  operation: string
  args: ZodType
  /** The result as text, for people. */
  human: (result: Json, args: JsonObject) => Printable
  /** What to do instead of one call of the operation. */
  run?: (connection: Connection, args: JsonObject) => Promise<Json>
  /** How to connect. Default: to the daemon, or else to the store. */
  open?: OpenConnection
}

/** Makes a command run an operation: its flags are the arguments. */
export function runsOperation(
  command: Command,
  context: CommandContext,
  {
    operation,
    args: schema,
    human,
    open,
    run = (daemon, args) => daemon.invoke(operation, args),
  }: OperationCommand,
): Command {
  const { read, flags } = operationFlags(command, schema)
  const { properties } = argumentsOf(schema)
  const search = searchOfList(properties)
  const searchFlag = flags.find((flag) => argumentOf(flag) === search)?.option.name() ?? search
  if (search) command.argument('[words...]', `the words of a search, as --${searchFlag}`)
  return command.action(() => {
    refuseWithoutVerb(command)
    let args = withSearch(command.args, read(command.opts(), context.terminal()), properties)
    refuseTimes(schema, args, flags)
    const call = async (daemon: Connection) => {
      args = await withFullIds(operation, args, daemon)
      return run(daemon, args).catch((error: unknown) => {
        throw context.terminal().json ? error : withFlagNames(error, nameOf(command), flags)
      })
    }
    return ask(context, call, (result) => withFilters(human(result, args), underFlags(args, schema)), open)
  })
}

/** The command as one types it: `trivium message list`. */
function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name()
}

/** The arguments with the words of a command line that have no flag: a search, or an id. */
function withSearch(
  words: readonly string[],
  args: JsonObject,
  properties: Readonly<Record<string, JsonObject>>,
): JsonObject {
  const [word] = words
  if (word === undefined) return args
  const search = searchOfList(properties) ?? 'search'
  if (args[search] !== undefined) throw usage('Give the words of the search once: with --search, or without.')
  const isId =
    properties.id !== undefined && words.length === 1 && searchedBy(word, args, properties) === undefined
  return isId ? { ...args, id: word } : { ...args, [search]: searchIn(words) }
}

/** `dead-letter retri x` is a mistyped verb, not a search of the list that the noun alone stands for. */
function refuseWithoutVerb(command: Command): void {
  const [word] = command.args
  if (word === undefined || command.parent?.args[0] !== word) return
  command.error(`error: too many arguments: ${word}`, { code: 'commander.excessArguments' })
}
