import type { Command } from 'commander'
import { TriviumError } from '../core/errors.ts'
import { isJsonObject, type Json, type JsonObject, objectsIn, parseJson, pathGet } from '../core/json.ts'
import { mcpServerOf } from '../core/mcp.ts'
import { type Skill, skillJsonSchema } from '../core/skill.ts'
import { builtInSkills } from '../daemon/built-in-skills.ts'
import { costCsv } from '../lib/cost-csv.ts'
import { didYouMean } from '../lib/nearest.ts'
import { isCallbackName } from '../runtime/callbacks/callback-skill.ts'
import { sortedApprovals } from './approval-order.ts'
import { withTitles } from './audit-pages.ts'
import { type CommandContext, type Environs, EXIT_NOTHING, loadFor, usage } from './command.ts'
import { confirmsSkill } from './confirms-skill.ts'
import { type Connection, connect, connectOrRead, isNotRunning } from './connection.ts'
import { conversationWords, withGateway } from './conversation-alone.ts'
import { decideApproval } from './decide.ts'
import { showDefault } from './default-help.ts'
import { followEvents, noteNewGroup } from './follow-events.ts'
import { followJob } from './follow-job.ts'
import { forAll, forPeople } from './for-people.ts'
import { withFullIds } from './full-ids.ts'
import { listGlobals } from './global-options.ts'
import {
  groupOf,
  listOf,
  meaningOf,
  NOUNS,
  nounHint,
  skillIn,
  spokenName,
  verbsOf,
  withVerb,
} from './grammar.ts'
import { requireKnownNames } from './known-names.ts'
import { missingArgument } from './missing-argument.ts'
import { unknownVerb } from './mistyped-verb.ts'
import { readFlags, withFlagNames } from './operation-flags.ts'
import { otherOption } from './other-option.ts'
import { withPerson } from './person/find.ts'
import { ofKnownPerson } from './person/known-person.ts'
import { withRanges } from './range-flags.ts'
import { resumes } from './resume.ts'
import { retryMessage } from './retry-message.ts'
import { requireWritable, saveExport } from './save-export.ts'
import { saveProof } from './save-proof.ts'
import { withView } from './saved-view.ts'
import { searchPages } from './search-pages.ts'
import { askForSecrets } from './secret-input.ts'
import {
  argsOfBuiltIn,
  BUILT_IN,
  commandFor,
  commandOf,
  type Described,
  describedSkill,
  readPositional,
} from './skill-flags.ts'
import { humanResult } from './skill-output.ts'
import { isStoreOnly, withoutDaemon } from './store-only.ts'
import { heldBack, hintAt, show, type Terminal, usageOutput } from './terminal.ts'
import { refuseTimes } from './time-as-id.ts'
import { withTopic } from './topic-of-group.ts'
import { waitingFirst } from './waiting-first.ts'

/** Skills with a separate exit code if nothing arrived in time. */
const WAITING = new Set(['event-wait', 'gateway-receive'])

type SeveralCalls = (
  daemon: Pick<Connection, 'invoke'>,
  args: JsonObject,
  terminal: Terminal,
  exit: (code: number) => void,
) => Promise<Json>

/** Built-in skills that the CLI calls several times. */
const IN_SEVERAL_CALLS: Readonly<Record<string, SeveralCalls>> = {
  'message-search': searchPages,
  'audit-list': withTitles,
  'approval-decide': decideApproval,
  'message-retry': retryMessage,
  'person-export': ofKnownPerson('person-export'),
  'person-erase': ofKnownPerson('person-erase'),
  'gateway-resume': resumes('gateway'),
  'route-resume': resumes('route'),
  'skill-resume': resumes('skill'),
  'conversation-resume': resumes('conversation'),
}

/**
 * Runs the skill that the words from the index `at` name, as noun and verb or by its name. A noun
 * alone prints the help of its verbs. Also finds skills of the project whose name starts with a
 * noun.
 */
export async function invokeSpoken(line: readonly string[], at: number, context: CommandContext) {
  const words = withVerb(line.slice(at))
  const rest = [...line.slice(0, at), ...words]
  const end = words.findIndex((word) => word.startsWith('-'))
  const spoken = skillIn(end < 0 ? words : words.slice(0, end))
  const [first = '', second] = words
  const name = spoken?.name ?? first
  const group = spoken ? undefined : groupOf(name)
  const isHelp = second === undefined || second === '--help' || second === '-h'
  if (group) listGlobals(group)
  if (group && isHelp)
    return withDefault(group, name).configureOutput(usageOutput(context.terminal())).outputHelp()
  if (group && second !== undefined && !(await isSkillOfProject(name, context)))
    throw unknownVerb(name, second, verbsOf(name), { name: words[2] })
  if (!spoken && spokenName(name) !== name)
    hintAt(context.terminal(), `trivium ${name}`, `trivium ${spokenName(name)}`)
  const args = rest.toSpliced(at, spoken?.count ?? 1)
  if (spoken?.first && args[at] !== undefined && !args[at].startsWith('-'))
    args.splice(at, 0, `--${spoken.first}`)
  await invokeByName(name, args, context, spoken?.first)
}

/** The help of a noun, with the options of the verb that the noun alone stands for. */
function withDefault(group: Command, noun: string): Command {
  const verb = listOf(noun)
  const found = verb === undefined ? undefined : skillIn([noun, verb])
  const skill = builtInSkills.find(({ name }) => name === found?.name)
  if (!skill || verb === undefined) return group
  showDefault(group, commandOf(skill).name(verb))
  return group
}

async function isSkillOfProject(name: string, context: CommandContext): Promise<boolean> {
  return objectsIn(await listSkills(context.environs())).some(
    (skill) => skill.name === name && skill.kind !== BUILT_IN,
  )
}

/**
 * Runs `trivium <skill> --arg value`, with flags made from the skill's schema. `argv`: the words
 * after the name. `first`: see `commandFor`.
 */
async function invokeByName(name: string, argv: readonly string[], context: CommandContext, first?: string) {
  if (argv.includes('--help') || argv.includes('-h')) return showHelp(name, context, first)
  await using connection = await open(name, context)
  const skill = await find(connection, name, context)
  const { command, flags, places } = commandFor(name, skill, first)
  const held = heldBack(context.terminal())
  const output = { ...usageOutput(context.terminal()), writeErr: held.write }
  command.configureOutput(output).action(async () => {
    const options = command.opts<JsonObject>()
    const json = options.args === undefined ? {} : parseJson(String(options.args))
    if (!isJsonObject(json)) throw usage('--args is a JSON object, such as {"topic":"jobs"}')
    const isBuiltIn = skill.kind === BUILT_IN
    const ofFlags = readFlags(flags, options)
    const named = { ...json, ...(isBuiltIn ? withRanges(ofFlags, flags, context.terminal()) : ofFlags) }
    const { args: ofWords, words } = isBuiltIn
      ? await conversationWords(name, command.args, named, connection)
      : { args: {}, words: command.args }
    const positional = { ...named, ...ofWords, ...readPositional(words, named, skill.args, flags) }
    const withPositional = isBuiltIn ? await withTopic(name, positional, connection) : positional
    const missing =
      isBuiltIn && !context.terminal().json
        ? await missingArgument(name, withPositional, skill.args, { places, daemon: connection })
        : undefined
    if (missing) throw missing
    if (first === 'id' && withPositional.id === undefined) throw missingEntry(name)
    if (isBuiltIn) refuseTimes(argsOfBuiltIn(name), withPositional, flags)
    const spoken = isBuiltIn
      ? await withPerson(name, withPositional, connection, noteTo(context.terminal()))
      : withPositional
    const given = await askForSecrets(withWait(name, spoken), skill.args, context.terminal())
    const args = isBuiltIn
      ? await withFullIds(name, await withGateway(name, given, connection), connection)
      : given
    if (isBuiltIn) await requireKnownNames(name, args, connection, context.environs())
    if (options.follow === true && name === 'event-wait') return followEvents(connection, args, context)
    if (name === 'event-wait') await noteNewGroup(connection, args, context.terminal())
    const { invoke } = connection.running
      ? connection
      : await withoutDaemon(name, args, connection, context.environs())
    const asked = { terminal: context.terminal(), yes: options.yes === true }
    if (isBuiltIn && !(await confirmsSkill(name, args, { invoke }, asked))) return
    if (isBuiltIn && name === 'person-export') requireWritable(exportTo(options.output, context))
    const run = isBuiltIn ? severalCalls(name, options) : undefined
    const call = run ? run({ invoke }, args, context.terminal(), context.exit) : invoke(name, args)
    const result = await call.catch((error: unknown) => {
      throw context.terminal().json ? error : withFlagNames(error, `trivium ${spokenName(name)}`, flags)
    })
    if (first === 'id') requireFound(name, result, String(args.id))
    const inOrder = isBuiltIn && name === 'approval-list' ? sortedApprovals(result, options.sort) : result
    const whole = isBuiltIn ? await forAll(name, inOrder, connection) : result
    const isForPeople = isBuiltIn && !context.terminal().json
    const shown = isForPeople ? await forPeople(name, whole, connection, args) : whole
    if (isBuiltIn && name === 'person-export') return saveExport(shown, exportTo(options.output, context))
    if (isBuiltIn && name === 'job-show' && typeof options.output === 'string')
      return saveProof(whole, options.output, { environs: context.environs(), terminal: context.terminal() })
    const isCsv = isBuiltIn && options.csv === true
    show(context.terminal(), shown, () =>
      isCsv
        ? costCsv(Object(shown)).trimEnd()
        : humanResult(
            name,
            skill.kind === WORD ? answerOf(shown, context.terminal()) : shown,
            args,
            isBuiltIn,
          ),
    )
    const isNothing = result === null || (Array.isArray(result) && result.length === 0)
    if (WAITING.has(name) && isNothing) context.exit(EXIT_NOTHING)
    if (isBuiltIn && name === 'refused-try' && pathGet(result, 'ok') !== true) context.exit(1)
  })
  await command.parseAsync(argv, { from: 'user' }).catch((error: unknown) => {
    const better = otherOption(command, spokenName(name), argv, error)
    if (!better) held.release()
    throw better ?? error
  })
}

/** The kind of the words of the assistant, such as `search`. */
const WORD = 'prefix'

/** What a word of the assistant answers in a chat, for a terminal; a pipe gets the whole result. */
function answerOf(result: Json, { isTerminal }: Terminal): Json {
  const text = pathGet(result, 'text')
  return isTerminal && typeof text === 'string' ? text : result
}

/** How to run a built-in skill in several calls; undefined for one call. */
function severalCalls(name: string, { wait, follow, view }: JsonObject): SeveralCalls | undefined {
  if (name === 'conversation-list')
    return async (daemon, args) => waitingFirst(daemon, await withView(daemon, 'conversations', view, args))
  if (name === 'job-show') return follow === true ? followJob : undefined
  return wait !== false && Object.hasOwn(IN_SEVERAL_CALLS, name) ? IN_SEVERAL_CALLS[name] : undefined
}

/** Where the data of `person export` goes. */
function exportTo(output: unknown, context: CommandContext) {
  const human = (saved: Json) => humanResult('person-export', saved, {}, true)
  const file = typeof output === 'string' ? output : undefined
  return { output: file, environs: context.environs(), terminal: context.terminal(), human }
}

/** The error for `approval show` or `audit show` without the id of the entry. */
function missingEntry(name: string): TriviumError {
  const [noun = ''] = spokenName(name).split(' ')
  const what = noun === 'audit' ? 'audit entry' : noun
  return usage(
    `The id of the ${what} is missing: \`trivium ${noun} show ID\`. \`trivium ${noun} list\` lists them.`,
  )
}

/** Throws if `approval show` or `audit show`, a list of one entry, found none. */
function requireFound(name: string, result: Json, id: string): void {
  const entries = name === 'audit-list' ? pathGet(result, 'entries') : result
  if (!Array.isArray(entries) || entries.length > 0) return
  if (name === 'approval-list') throw new TriviumError('approval_not_found', { id })
  throw new TriviumError('not_found', { path: `audit entry ${id}`, hint: '' })
}

/** Prints a note about the command for people. */
function noteTo({ json, err }: Terminal) {
  return (text: string) => {
    if (!json) err(`${text}\n`)
  }
}

/** How long (ms) `gateway send` waits without `--wait`: a person expects the outcome. */
const SEND_WAIT = 10_000

function withWait(name: string, args: JsonObject): JsonObject {
  const isNow = args.at === undefined && args.in === undefined
  return name === 'gateway-send' && isNow ? { wait: SEND_WAIT, ...args } : args
}

/** Prints the help of a skill, from the daemon or else from the folders, without the store. */
async function showHelp(name: string, context: CommandContext, first?: string): Promise<void> {
  const builtIn = builtInSkills.find((one) => one.name === name)
  // Built-in skills have their help even if the configuration cannot be read.
  const skills = objectsIn(
    await listSkills(context.environs()).catch((error: unknown) => {
      if (builtIn) return [describe({ ...builtIn, kind: BUILT_IN })]
      throw error
    }),
  )
  const skill = skills.find((one) => one.name === name)
  if (!skill)
    throw unknownCommand(
      name,
      skills.map((one) => String(one.name)),
      context,
    )
  const { command } = commandFor(name, describedSkill.parse(skill), first)
  await command.configureOutput(usageOutput(context.terminal())).parseAsync(['--help'], { from: 'user' })
}

/** Adds all skills as commands for completion, from the daemon or else from the folders. */
export async function addSkillCommands(program: Command, context: CommandContext): Promise<void> {
  for (const skill of objectsIn(await listSkills(context.environs()))) {
    const name = String(skill.name)
    const words = spokenName(name).split(' ')
    const verb = words.pop()
    let parent = program
    for (const word of words)
      parent = childOf(parent, word) ?? parent.command(word).description(meaningOf(word))
    if (verb === undefined || childOf(parent, verb)) continue
    parent.addCommand(commandFor(name, describedSkill.parse(skill)).command.name(verb))
  }
}

function childOf(command: Command, name: string): Command | undefined {
  return command.commands.find((child) => child.name() === name)
}

/** The skills with their arguments, from the running daemon, or else from the folders. */
async function listSkills(environs: Environs): Promise<unknown> {
  const listed = await connect(environs)
    .then((connection) => connection.skills())
    .catch(() => undefined)
  if (listed !== undefined) return listed
  const known = await skillsWithoutDaemon(environs)
  return known.map(describe)
}

/** Describes a skill in the form of the daemon. */
function describe({ args, ...skill }: Partial<Pick<Skill, 'args'>> & { name: string; kind?: string }) {
  return { ...skill, args: args ? skillJsonSchema({ args }) : {} }
}

/**
 * Connects to the daemon, or opens the store for a skill that needs no daemon. Without a daemon, an
 * unknown command is reported as such, and not as `not_running`.
 */
async function open(name: string, context: CommandContext): Promise<Connection> {
  const environs = context.environs()
  try {
    return await connect(environs)
  } catch (error) {
    if (!isNotRunning(error) || isCallbackName(name)) throw error
    const known = await skillsWithoutDaemon(environs)
    const skill = known.find((one) => one.name === name)
    if (!skill && mcpServerOf(name) === undefined)
      throw unknownCommand(
        name,
        known.map((one) => one.name),
        context,
      )
    if (isStoreOnly(name) && skill?.kind === BUILT_IN) return connectOrRead(environs)
    throw error
  }
}

/** The skills known without a daemon. */
async function skillsWithoutDaemon(environs: Environs) {
  const { knownSkills } = await import('../daemon/known-skills.ts')
  return knownSkills(await loadFor(environs, { withoutVariables: 'except-store' }))
}

/** The description of a skill. Throws `usage` with suggestions for an unknown one. */
async function find(connection: Connection, name: string, context: CommandContext): Promise<Described> {
  const found = await connection.describe(name).catch(async (error: unknown) => {
    if (!(error instanceof TriviumError) || error.code !== 'skill_not_found') throw error
    if (isCallbackName(name)) return {}
    const known = objectsIn(await connection.skills()).map((skill) => String(skill.name))
    throw unknownCommand(name, known, context)
  })
  return describedSkill.parse(found)
}

function unknownCommand(name: string, skills: readonly string[], context: CommandContext): TriviumError {
  const hint = nounHint(name) || didYouMean(name, [...skills, ...context.commands(), ...NOUNS, 'help'])
  return usage(
    `There is no command and no skill ${name}.${hint} \`trivium help\` and \`trivium skill list\` name them.`,
  )
}
