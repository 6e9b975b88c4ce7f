import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { errorBody, type TriviumError, toTriviumError } from '../core/errors.ts'
import { paint } from '../lib/paint.ts'
import { paragraph } from '../lib/paragraph.ts'
import { ownEnvironment, shareEnvironment } from '../lib/shared-environment.ts'
import { type AddCommand, type CommandContext, type Environs, ownFile } from './command.ts'
import { listsAlone, showsHelpAlone } from './default-help.ts'
import { environsOf, type Globals, listGlobals, takeGlobals, wordsOf } from './global-options.ts'
import { addSections, FIRST_EXAMPLES, ORDERED_HELP } from './main-help.ts'
import { readsOnly } from './reads-only.ts'
import { createTerminal, heldBack, hintAt, type Streams, type Terminal, usageOutput } from './terminal.ts'
import { usageText } from './usage-text.ts'

/**
 * All commands that are not skills, in the order of the help. Each is loaded only if a command line
 * uses it.
 */
const COMMANDS: Readonly<Record<string, () => Promise<AddCommand>>> = {
  start: async () => (await import('./commands/daemon.ts')).addStart,
  demo: async () => (await import('./commands/demo.ts')).addDemo,
  init: async () => (await import('./commands/init.ts')).addInit,
  status: async () => (await import('./commands/status.ts')).addStatus,
  top: async () => (await import('./commands/top.ts')).addTop,
  tail: async () => (await import('./commands/tail.ts')).addTail,
  listen: async () => (await import('./commands/listen.ts')).addListen,
  doctor: async () => (await import('./commands/doctor.ts')).addDoctor,
  message: async () => (await import('./commands/message.ts')).addMessage,
  conversation: async () => (await import('./commands/conversation.ts')).addConversation,
  history: async () => (await import('./commands/history.ts')).addHistory,
  gateway: async () => (await import('./commands/gateway.ts')).addGateway,
  email: async () => (await import('./commands/email.ts')).addEmail,
  route: async () => (await import('./commands/route.ts')).addRoute,
  config: async () => (await import('./commands/config.ts')).addConfig,
  reload: async () => (await import('./commands/daemon.ts')).addReload,
  person: async () => (await import('./commands/person.ts')).addPerson,
  'dead-letter': async () => (await import('./commands/dead-letters.ts')).addDeadLetters,
  group: async () => (await import('./commands/group.ts')).addGroup,
  token: async () => (await import('./commands/token.ts')).addToken,
  audit: async () => (await import('./commands/audit.ts')).addAudit,
  refusal: async () => (await import('./commands/refusal.ts')).addRefusal,
  run: async () => (await import('./commands/run.ts')).addRun,
  trouble: async () => (await import('./commands/trouble.ts')).addTrouble,
  state: async () => (await import('./commands/state.ts')).addState,
  workbench: async () => (await import('./commands/workbench.ts')).addWorkbench,
  backup: async () => (await import('./commands/backup.ts')).addBackup,
  restore: async () => (await import('./commands/restore.ts')).addRestore,
  compact: async () => (await import('./commands/compact.ts')).addCompact,
  store: async () => (await import('./commands/store.ts')).addStore,
  skill: async () => (await import('./commands/skill.ts')).addSkill,
  mcp: async () => (await import('./commands/mcp.ts')).addMcp,
  error: async () => (await import('./commands/error.ts')).addError,
  parts: async () => (await import('./commands/parts.ts')).addParts,
  // Must be last: it completes the commands before it.
  completion: async () => (await import('./commands/completion.ts')).addCompletion,
}

export const COMMAND_NAMES = Object.keys(COMMANDS)

/** Old names of commands. `alone`: what the name alone, or with flags, stood for. */
const RENAMED: Readonly<Record<string, { now: string; alone?: string }>> = {
  'dead-letters': { now: 'dead-letter' },
  routes: { now: 'route', alone: 'route check' },
  refused: { now: 'refusal list' },
  'refused-try': { now: 'refusal try' },
  shards: { now: 'store grow' },
  troubles: { now: 'trouble list' },
}

/** Called by shells for completion: `complete -- <the words so far>`. Hidden in the help. */
const COMPLETE = 'complete'

/** The environment of the program. */
type ProcessEnvironment = Pick<Environs, 'env' | 'cwd' | 'share'> & Streams

const THIS_PROCESS: ProcessEnvironment = {
  env: ownEnvironment(),
  share: shareEnvironment,
  cwd: process.cwd(),
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
}

/**
 * Runs one command line. Resolves with the exit code: 0 success, 1 failure, 2 usage or
 * configuration, 3 no daemon, 4 no result.
 */
export async function main(argv: string[], environment: ProcessEnvironment = THIS_PROCESS): Promise<number> {
  const { rest, globals } = takeGlobals(helpOfVerb(argv))
  const isHelpAsked = rest.includes('--help') || rest.includes('-h')
  if (isHelpAsked || !readsOnly(rest)) return runLine(argv, environment)
  const isWatched = rest.some((word) => /^(--watch(=.*)?|-w)$/.test(word))
  if (isWatched) return runWatched(rest, globals, environment)
  const mayPage = environment === THIS_PROCESS && !globals.json && !globals.noPager
  const paged = mayPage ? (await import('./pager.ts')).pagedStreams(environment, environment.env) : undefined
  if (!paged) return runLine(argv, environment)
  const code = await runLine(argv, { ...environment, ...paged.streams })
  await paged.end()
  return code
}

/** Runs a command line with `--watch`. */
async function runWatched(
  rest: readonly string[],
  globals: Globals,
  environment: ProcessEnvironment,
): Promise<number> {
  const terminal = createTerminal(globals.json, environment)
  const { watch, watchedIn } = await import('./watch.ts')
  const { out: _out, err: _err, ...host } = environment
  try {
    const watched = watchedIn(rest)
    if (!watched) return await runLine([...rest], environment)
    return await watch(watched, terminal, async (line) => {
      const parts: Record<keyof Streams, string[]> = { out: [], err: [] }
      const out = (text: string) => void parts.out.push(text)
      const err = (text: string) => void parts.err.push(text)
      const code = await runLine([...wordsOf(globals), ...line], { ...host, out, err })
      return { code, out: parts.out.join(''), err: withoutProgress(parts.err), at: Date.now() }
    })
  } catch (error) {
    return report(error, terminal, { isDaemon: false })
  }
}

/** What is written without progress, which begins with a carriage return. */
function withoutProgress(parts: readonly string[]): string {
  return parts.filter((part) => !part.startsWith('\r')).join('')
}

async function runLine(argv: string[], environment: ProcessEnvironment): Promise<number> {
  const { rest, globals, problem } = takeGlobals(helpOfVerb(argv))
  const program = new Command('trivium')
  const terminal = createTerminal(globals.json, environment)
  const version = String(JSON.parse(readFileSync(ownFile('package.json'), 'utf8')).version)
  const tell = (text: string) =>
    terminal.err(globals.json ? `${JSON.stringify({ waiting: text.trim() })}\n` : text)
  const { out: _out, err: _err, ...host } = environment
  let code = 0
  const context: CommandContext = {
    environs: () => environsOf(globals, { ...host, version, tell }),
    terminal: () => terminal,
    commands: () => COMMAND_NAMES,
    output: (line) => outputOf([...wordsOf(globals), ...line], host),
    exit(exitCode) {
      code = exitCode
    },
  }

  const held = heldBack(terminal)
  program
    .description(
      'A messaging daemon: email, Slack, WebSocket and webhooks in; dispatch, receive and events out.',
    )
    .version(version)
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ ...usageOutput(terminal), writeErr: held.write })
    .configureHelp(ORDERED_HELP)
    .addHelpText(
      'after',
      () =>
        `\n${FIRST_EXAMPLES}\n\n${paragraph('', '`trivium <noun> --help` lists the verbs of a noun. Your own skills are commands, too: `trivium skill list`.')}`,
    )

  try {
    if (problem) throw problem
    if (rest.includes('')) (await import('./empty-argument.ts')).refuseEmpty(rest, COMMAND_NAMES)
    const at = rest.findIndex((word) => !word.startsWith('-'))
    const name = currentName(rest, at, terminal)
    if (name !== undefined && name !== 'help' && name !== COMPLETE && !Object.hasOwn(COMMANDS, name)) {
      const { invokeSpoken } = await import('./skill-command.ts')
      await invokeSpoken(rest, at, context)
      return code
    }
    // A single command is loaded alone. Flags before it may belong to the main help, which needs
    // all commands.
    const only = name !== undefined && at === 0 ? COMMANDS[name] : undefined
    const loads = only ? [only] : Object.values(COMMANDS)
    for (const load of loads) {
      if (load === COMMANDS.completion && name === COMPLETE)
        await (await import('./skill-command.ts')).addSkillCommands(program, context)
      const addCommand = await load()
      addCommand(program, context)
    }
    if (isGroupAlone(program, rest)) {
      const { listOf } = await import('./grammar.ts')
      rest.splice(1, 0, listOf(rest[0] ?? '') ?? '--help')
    }
    // A verb that a command group lacks may be a skill: `skill pause NAME`, `state get KEY`.
    if (only && isUnknownVerb(program, rest) && (await import('./grammar.ts')).skillIn(rest)) {
      const { invokeSpoken } = await import('./skill-command.ts')
      await invokeSpoken(rest, at, context)
      return code
    }
    if (isHelp(rest, name)) {
      await addExamples(program)
      await listSkills(program)
    }
    listGlobals(program)
    await program.parseAsync(rest, { from: 'user' })
    return code
  } catch (error) {
    const verbError = isUnknownVerb(program, rest) ? await mistyped(program, rest, error, context) : undefined
    const betterError = verbError ?? (await withForm(program, rest, error))
    if (!betterError) held.release()
    return await report(betterError ?? error, terminal, { isDaemon: rest[0] === 'start' })
  }
}

/** All that a command line prints, without its progress, which begins with a carriage return. */
async function outputOf(line: string[], host: Omit<ProcessEnvironment, keyof Streams>): Promise<string> {
  const parts: string[] = []
  const write = (part: string) => void parts.push(part)
  await main(line, { ...host, out: write, err: write })
  return withoutProgress(parts)
}

/** `help dead-letter retry` is `dead-letter retry --help`, also for skills and unknown commands. */
function helpOfVerb(argv: string[]): string[] {
  const [word, noun] = argv
  return word === 'help' && noun !== undefined ? [...argv.slice(1), '--help'] : argv
}

/** The error about a missing argument of a command, with its form and the list of what it may be. */
async function withForm(program: Command, rest: readonly string[], error: unknown) {
  if (!(error instanceof CommanderError)) return undefined
  if (['commander.unknownOption', 'commander.excessArguments'].includes(error.code))
    return withOtherOption(program, rest, error)
  if (error.code !== 'commander.missingArgument') return undefined
  const { missingPlace } = await import('./missing-argument.ts')
  return missingPlace(program, rest)
}

/** The error about an option or a word that the command of a line does not have. */
async function withOtherOption(program: Command, rest: readonly string[], error: CommanderError) {
  const [noun, verb] = rest
  const group = program.commands.find((one) => one.name() === noun)
  const named = group?.commands.find((one) => one.name() === verb)
  const command = named ?? group?.commands.find((one) => one.name() === 'list') ?? group
  if (!group || !command) return undefined
  const { otherOption } = await import('./other-option.ts')
  const name = command === group ? group.name() : `${group.name()} ${command.name()}`
  if (error.code === 'commander.unknownOption') return otherOption(command, name, rest, error)
  return (await import('./extra-words.ts')).extraWords(command, name, error)
}

async function mistyped(program: Command, rest: readonly string[], error: unknown, context: CommandContext) {
  const { mistypedVerb } = await import('./mistyped-verb.ts')
  return mistypedVerb(program, rest, error, context.environs())
}

/** Whether the only word, with or without flags, is a command group that needs arguments. */
function isGroupAlone(program: Command, rest: readonly string[]): boolean {
  const [noun, second] = rest
  const isOption = second?.startsWith('-') === true && second !== '-h' && second !== '--help'
  return program.commands.some(
    (group) =>
      group.name() === noun &&
      ((second === undefined && showsHelpAlone(group)) || (isOption && listsAlone(group))),
  )
}

/**
 * The current name of the command at an index. For an old name, prints a hint and replaces it in
 * the words.
 */
function currentName(rest: string[], at: number, terminal: Terminal): string | undefined {
  const word = rest[at]
  const renamed = word === undefined || !Object.hasOwn(RENAMED, word) ? undefined : RENAMED[word]
  if (renamed === undefined) return word
  const next = rest[at + 1]
  const isAlone = next === undefined || (next.startsWith('-') && !/^(-h|--help)$/.test(next))
  const current = isAlone ? (renamed.alone ?? renamed.now) : renamed.now
  hintAt(terminal, `trivium ${word}`, `trivium ${current}`)
  rest.splice(at, 1, ...current.split(' '))
  return rest[at]
}

function isHelp(rest: readonly string[], name: string | undefined): boolean {
  return name === undefined || name === 'help' || rest.includes('--help') || rest.includes('-h')
}

/** Adds their examples to the help of commands. */
async function addExamples(program: Command): Promise<void> {
  const { examplesOf } = await import('./examples.ts')
  const add = (command: Command, words: string) => {
    const examples = examplesOf(words)
    if (examples !== '') command.addHelpText('after', examples)
    for (const child of command.commands) add(child, `${words} ${child.name()}`)
  }
  for (const command of program.commands) add(command, command.name())
}

/** Adds skills to the help: nouns to the main help, and missing verbs to each group. */
async function listSkills(program: Command): Promise<void> {
  const { listNouns, listVerbs } = await import('./grammar.ts')
  for (const group of program.commands) if (group.commands.length > 0) listVerbs(group, group.name())
  if (program.commands.length === 1) return
  listNouns(program)
  addSections(program)
}

/** Whether the first word is a command group, and the second is not one of its commands. */
function isUnknownVerb(program: Command, [noun, verb]: readonly string[]): boolean {
  if (verb === undefined || verb.startsWith('-') || verb === 'help') return false
  const group = program.commands.find((command) => command.name() === noun)
  if (!group) return false
  return !group.commands.some((command) => command.name() === verb || command.aliases().includes(verb))
}

/**
 * Prints an error. Returns the exit code. The last line of a daemon's log names the code, as
 * operators look it up there.
 */
async function report(
  error: unknown,
  terminal: Terminal,
  { isDaemon }: { isDaemon: boolean },
): Promise<number> {
  if (error instanceof CommanderError && error.exitCode === 0) return 0
  const isUsage = error instanceof CommanderError
  const found: Pick<TriviumError, 'code' | 'message' | 'exit' | 'details'> = isUsage
    ? { code: 'usage', message: usageOf(error), exit: 2 }
    : toTriviumError(error)
  if (terminal.json) terminal.err(`${JSON.stringify(errorBody(found))}\n`)
  // Commander has already printed usage errors.
  else if (!isUsage) {
    const { errorText } = await import('./error-text.ts')
    terminal.err(`${paint('red', 'trivium:', process.stderr)} ${inWidth(errorText(found))}\n`)
    if (isDaemon || found.code === 'store_version')
      terminal.err(`trivium: the error is ${found.code} (\`trivium error show ${found.code}\`)\n`)
  }
  return found.exit
}

/** Wraps sentences for the terminal. Excerpts of files, which are indented, stay as they are. */
function inWidth(message: string): string {
  const isExcerpt = /\n\s/.test(message)
  return isExcerpt || !process.stderr.isTTY
    ? message
    : paragraph(' '.repeat('trivium: '.length), message).trimStart()
}

function usageOf({ code, message }: CommanderError): string {
  return code === 'commander.help'
    ? 'a command is missing; see --help'
    : usageText(message.replace(/^error: /, ''))
}
