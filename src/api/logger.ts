import pino, { type DestinationStream } from 'pino'
import type { Log } from '../core/log.ts'
import { defined } from '../lib/defined.ts'
import { escapeControls } from '../lib/escape-controls.ts'
import { withoutSecrets } from '../lib/secrets.ts'

/** Redacted fields, at every depth used by our log calls. */
const SECRET_FIELDS = [
  'token',
  'secret',
  'password',
  'pass',
  'authorization',
  'cookie',
  'bot-token',
  'app-token',
  'botToken',
  'appToken',
]

/**
 * Makes the logger. Redacts secrets by field name and by value. `secrets` is called for each line,
 * as a reload may change them.
 */
export function createLogger(options: {
  level: string
  secrets: () => readonly string[]
  destination: { write(line: string): unknown }
  pretty: boolean
  /** Receives each line that has a message id, as JSON. */
  recent?: { add(line: string): void }
}): Log {
  const destination: DestinationStream = {
    write(line) {
      options.destination.write(escapeControls(withoutSecrets(line, options.secrets())))
    },
  }
  const paths = SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])
  const settings = {
    level: options.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths, censor: '[secret]' },
    serializers: { err: serializeError },
  }
  const output = options.pretty ? prettyStream(destination) : destination
  return pino(settings, {
    write(line) {
      output.write(line)
      if (line.includes('"messageId":"')) options.recent?.add(withoutSecrets(line, options.secrets()))
    },
  })
}

/**
 * Like pino's serializer, but does not repeat a cause that the message already names. Errors of our
 * catalogue name theirs.
 */
function serializeError(error: Error) {
  const shown = pino.stdSerializers.err(error)
  return error instanceof Error ? { ...shown, message: withCauses(error) } : shown
}

const MAX_CAUSES = 10

function withCauses(error: Error): string {
  let text = error.message
  let { cause } = error
  for (let count = 0; cause instanceof Error && count < MAX_CAUSES; count += 1) {
    if (!text.includes(cause.message)) text += `: ${cause.message}`
    cause = cause.cause
  }
  return text
}

/** Maximum number of lines in memory. */
const MOST_LINES = 2_000
/** Maximum number of lines that are returned for one message. */
const MOST_PER_MESSAGE = 200
/** Lines with more characters are not kept. */
const LONGEST_LINE = 8_000

/** Keeps the newest log lines about messages in memory. */
export function createRecentLines() {
  const lines: string[] = []
  return {
    add(line: string): void {
      if (line.length > LONGEST_LINE) return
      lines.push(line)
      if (lines.length > MOST_LINES) lines.shift()
    },
    /** The lines about a message, oldest first. */
    of: (messageId: string) =>
      lines
        .filter((line) => line.includes(messageId))
        .map((line): Line => JSON.parse(line))
        .filter((line) => line.messageId === messageId)
        .slice(-MOST_PER_MESSAGE)
        .map(({ time, level, msg, messageId: _, err, ...fields }) => {
          const { message: error, stack } = err ?? {}
          const head = { at: Date.parse(time), level: pino.levels.labels[level], message: msg }
          return { ...head, ...fields, ...defined({ error, stack }) }
        }),
  }
}

/** A line of the log, as parsed JSON. */
type Line = { time: string; level: number; msg: string; err?: { message?: string; stack?: string } } & Record<
  string,
  unknown
>

/** Compact human-readable lines: `12:01:02 warn  the skill failed  messageId=… route=…`. */
function prettyStream(destination: DestinationStream): DestinationStream {
  return {
    write(text) {
      const { time, level, msg, err, ...fields } = JSON.parse(text) as Line
      const pairs = Object.entries(fields).map(([name, value]) => `${name}=${quotedIfNeeded(value)}`)
      if (err?.message) pairs.push(`error=${JSON.stringify(err.message)}`)
      const label = (pino.levels.labels[level] ?? String(level)).padEnd(5)
      const details = pairs.length > 0 ? `  ${pairs.join(' ')}` : ''
      destination.write(`${time.slice(11, 19)} ${label} ${msg}${details}\n`)
    },
  }
}

function quotedIfNeeded(value: unknown): string {
  return typeof value === 'string' && !/[\s"=]/.test(value) ? value : JSON.stringify(value)
}
