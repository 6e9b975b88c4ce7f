import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { lengthOf } from '../lib/paragraph.ts'
import type { Environs } from './command.ts'
import type { Streams } from './terminal.ts'

/** The pager if none is set, with options: quit if the text fits, keep colours and the text. */
const DEFAULT = 'less'
const LESS = { LESS: 'FRX', LESSCHARSET: 'utf-8' }
/** The exit code of a shell that does not find a command. */
const NOT_FOUND = 127

/** The pager of a command line: TRIVIUM_PAGER, PAGER or less. Undefined for `cat`, or an empty one. */
function pagerIn({ TRIVIUM_PAGER, PAGER }: Environs['env']): string | undefined {
  const pager = (TRIVIUM_PAGER ?? PAGER ?? DEFAULT).trim()
  return pager === '' || pager === 'cat' ? undefined : pager
}

/**
 * Streams that keep the output of a command, and its `end`, which shows it: in a pager if it is
 * longer than the terminal. Undefined if stdin or stdout is not a terminal, or no pager is installed.
 * Progress that is written to stderr before the first output is shown immediately.
 */
export function pagedStreams(
  { out, err }: Streams,
  env: Environs['env'],
): { streams: Streams; end(): Promise<void> } | undefined {
  const { stdin, stdout, stderr } = process
  const pager = pagerIn(env)
  const isAtTerminal = stdin.isTTY && stdout.isTTY && stdout.rows > 0 && env.TERM !== 'dumb'
  if (!isAtTerminal || pager === undefined) return undefined
  let kept = ''
  const keep = (text: string) => {
    kept += text
  }
  return {
    streams: { out: keep, err: (text) => (kept === '' || !stderr.isTTY ? err(text) : keep(text)) },
    async end() {
      const isPaged = isLongerThan(kept, stdout) && (await showIn(pager, kept, env))
      if (!isPaged) out(kept)
    },
  }
}

/** Whether a text and the prompt after it need more lines than the terminal has. */
function isLongerThan(text: string, { rows, columns }: { rows: number; columns: number }): boolean {
  const lines = text.split('\n')
  return lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(lengthOf(line) / columns)), 0) > rows
}

/** Shows a text in a pager. Resolves with false if it could not be started. */
async function showIn(pager: string, text: string, env: Environs['env']): Promise<boolean> {
  // Ctrl-C belongs to the pager.
  const ignore = () => {}
  process.on('SIGINT', ignore)
  try {
    const child = spawn(pager, {
      shell: pager !== DEFAULT,
      stdio: ['pipe', 'inherit', 'inherit'],
      env: { ...LESS, ...env },
    })
    // It may quit before it has read everything.
    child.stdin.on('error', ignore).end(text)
    const [code] = await once(child, 'close')
    return code !== NOT_FOUND
  } catch {
    return false
  } finally {
    process.off('SIGINT', ignore)
  }
}
