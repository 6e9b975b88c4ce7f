import { hostname } from 'node:os'
import { MESSAGE_TOPIC } from '../../core/event.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../core/json.ts'
import { parseDuration } from '../../core/units.ts'
import { type AddCommand, interruption, usage, wholeNumber } from '../command.ts'
import { connect } from '../connection.ts'
import { requireName } from '../known-names.ts'
import type { Deliver } from '../listen/delivery.ts'
import { createExec, DROP } from '../listen/exec.ts'
import { createForward, forwardUrl } from '../listen/forward.ts'
import { listen } from '../listen/listen.ts'
import { createPatientCalls } from '../listen/patient-calls.ts'
import type { Terminal } from '../terminal.ts'

type Flags = {
  forward?: string
  exec?: string
  topic: string
  gateway?: string
  match?: string
  group?: string
  replay?: true
  header: string[]
  timeout?: string
  attempts?: number
  max?: number
}

/** Default timeout (ms) of a request for --forward. */
const REQUEST_TIMEOUT = 30_000

export const addListen: AddCommand = (program, context) => {
  program
    .command('listen')
    .description('deliver events to a program under development, one at a time, until Ctrl-C')
    .option('--forward <url>', 'POST each event there: webhooks in their original form, others as JSON')
    .option(
      '--exec <command>',
      `run this for each event, with JSON on stdin; exit code 0: done, ${DROP}: drop`,
    )
    .option('--gateway <name>', 'only messages of this gateway')
    .option('--match <json>', 'only events that match this, with the match keys of a route: {"event":"push"}')
    .option('--topic <name>', 'a topic other than gateway-message', MESSAGE_TOPIC)
    .option('--group <name>', 'a permanent consumer group, which continues where it ended')
    .option('--replay', 'start with the oldest retained event')
    .option('--header <name: value>', 'an additional header for --forward; may be repeated', collect, [])
    .option('--timeout <duration>', 'time limit of one delivery (default 30s; no limit for --exec)')
    .option(
      '--attempts <n>',
      'drop an event after this many failed attempts; unlimited by default',
      wholeNumber('--attempts'),
    )
    .option('--max <n>', 'stop after this many events', wholeNumber('--max'))
    .action(async (flags: Flags) => {
      const terminal = context.terminal()
      const environs = context.environs()
      const match = matchOf(flags)
      const signal = interruption()
      const tell = (text: string) =>
        terminal.err(terminal.json ? `${JSON.stringify({ notice: text })}\n` : `${text}\n`)
      if (flags.gateway !== undefined)
        await requireName('gateway', flags.gateway, await connect(environs), environs)
      const calls = createPatientCalls(environs, signal, tell)
      const deps = { cwd: environs.cwd, env: environs.env, calls, tell }
      const { deliver, target } = delivererFor(flags, deps, terminal)
      const group = flags.group ?? `listen-${hostname()}-${process.pid}-${Date.now().toString(36)}`
      const settings = {
        topic: flags.topic,
        group,
        isPermanent: flags.group !== undefined,
        match,
        replay: flags.replay === true,
        attempts: flags.attempts || Number.POSITIVE_INFINITY,
        max: flags.max || Number.POSITIVE_INFINITY,
        ready: () => tell(`Listening on ${flags.topic}, ${target}. Ctrl-C ends it.`),
      }
      await listen(settings, calls, deliver, terminal, signal)
    })
}

type DelivererDeps = {
  cwd: string
  env: Readonly<Record<string, string | undefined>>
  calls: ReturnType<typeof createPatientCalls>
  tell(text: string): void
}

function delivererFor(flags: Flags, { cwd, env, calls, tell }: DelivererDeps, terminal: Terminal) {
  const { forward, exec: command } = flags
  const timeout = flags.timeout === undefined ? undefined : durationOf(flags.timeout)
  if ((forward === undefined) === (command === undefined))
    throw usage('give either --forward URL or --exec COMMAND; to only watch, use `trivium tail`')
  if (command !== undefined) {
    const deliver: Deliver = createExec({ command, cwd, timeout }, { ...env }, terminal)
    return { deliver, target: `running ${command}` }
  }
  const url = forwardUrl(forward ?? '')
  const onIncomplete = (gateway: string) =>
    tell(
      `${gateway} does not keep signatures and exact bodies; set \`keep-original: true\` on it to forward them.`,
    )
  const headers = Object.fromEntries(flags.header.map(headerOf))
  const options = {
    url,
    headers,
    timeout: timeout ?? REQUEST_TIMEOUT,
    readFile: calls.readFile,
    onIncomplete,
  }
  return { deliver: createForward(options), target: `forwarding to ${url.href}` }
}

/** The filter of --match and --gateway together; undefined if neither is given. */
function matchOf({ gateway, match }: Flags): JsonObject | undefined {
  const parsed = match === undefined ? {} : parseJson(match)
  if (!isJsonObject(parsed))
    throw usage(`--match must be a JSON object with match keys of a route, not ${match}`)
  if (gateway !== undefined && parsed.gateway !== undefined)
    throw usage('give either --gateway or a gateway in --match')
  const keys = gateway === undefined ? parsed : { ...parsed, gateway }
  return Object.keys(keys).length > 0 ? keys : undefined
}

function headerOf(text: string): [string, string] {
  const [, name, value = ''] = /^([\w-]+)\s*:\s*(.*)$/s.exec(text) ?? []
  if (name === undefined) throw usage(`--header must be "Name: value", not ${JSON.stringify(text)}`)
  return [name.toLowerCase(), value]
}

function durationOf(text: string): number {
  const ms = parseDuration(text)
  if (ms === undefined || ms === 0)
    throw usage(`--timeout must be a duration such as 30s, not ${JSON.stringify(text)}`)
  return ms
}

/** For an option that may be repeated. */
function collect(value: string, previous: readonly string[]): string[] {
  return [...previous, value]
}
