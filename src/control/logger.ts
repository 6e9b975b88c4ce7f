import pino, { type DestinationStream } from 'pino'
import type { Log } from '../core/log.ts'
import { escapeControls } from '../lib/escape-controls.ts'
import { withoutSecrets } from '../lib/secrets.ts'

/** Fields that are never written, at any depth that our own log calls use. */
const SECRET_FIELDS = [
  'token',
  'secret',
  'password',
  'pass',
  'authorization',
  'cookie',
  'botToken',
  'appToken',
]

/** Makes the logger. Secrets go by field name and by value: `secrets` is asked for each line, as a reload may change them. */
export function createLogger(options: {
  level: string
  secrets: () => readonly string[]
  destination: { write(line: string): unknown }
  pretty: boolean
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
    serializers: { err: pino.stdSerializers.err },
  }
  return pino(settings, options.pretty ? prettyStream(destination) : destination)
}

type Line = { time: string; level: number; msg: string; err?: { message?: string } } & Record<string, unknown>

/** `12:01:02 warn  the skill failed  messageId=… route=…`: short enough to read as it scrolls. */
function prettyStream(destination: DestinationStream): DestinationStream {
  return {
    write(text) {
      const { time, level, msg, err, ...fields } = JSON.parse(text) as Line
      const shown = Object.entries(fields).map(([name, value]) => `${name}=${plain(value)}`)
      if (err?.message) shown.push(`error=${JSON.stringify(err.message)}`)
      const label = (pino.levels.labels[level] ?? String(level)).padEnd(5)
      destination.write(
        `${time.slice(11, 19)} ${label} ${msg}${shown.length > 0 ? `  ${shown.join(' ')}` : ''}\n`,
      )
    },
  }
}

function plain(value: unknown): string {
  return typeof value === 'string' && !/[\s"=]/.test(value) ? value : JSON.stringify(value)
}
