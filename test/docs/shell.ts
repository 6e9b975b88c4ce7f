import { spawn, spawnSync } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { type Block, placeOf } from './blocks.ts'

const MARK = '@@ block '

type Run = { blocks: readonly Block[]; begin: string; cwd: string; env: Record<string, string> }

/**
 * Runs blocks in one bash, in order, so that they share variables. Resolves with the output of
 * each; throws with the place and output of the first that fails.
 */
export async function runBlocks({ blocks, begin, cwd, env }: Run): Promise<Map<Block, string>> {
  const marked = blocks.map(({ code }, at) => `printf '\\n${MARK}%d\\n' ${at}\n${code}`)
  const script = [
    'set -euo pipefail',
    `trap 'kill $(jobs -p) 2> /dev/null || true' EXIT`,
    begin,
    ...marked,
  ].join('\n')
  const child = spawn('bash', ['-c', script], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  const [out, err, status] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  const parts = out.split(`\n${MARK}`).slice(1)
  if (status !== 0) {
    const last = blocks[parts.length - 1]
    const where = last ? placeOf(last) : 'what comes before the blocks'
    throw new Error(`${where} failed (${status}):\n${last?.code ?? begin}\n${parts.at(-1) ?? out}\n${err}`)
  }
  return new Map(blocks.map((block, at) => [block, (parts[at] ?? '').replace(/^\d+\n/, '')]))
}

/** The error of bash about a script that it cannot parse; undefined if it can. */
export function bashProblem(code: string): string | undefined {
  const { status, stderr } = spawnSync('bash', ['-n'], { input: code, encoding: 'utf8' })
  return status === 0 ? undefined : stderr
}

/**
 * Whether the output has these lines in this order. `…`, `<id>`, numbers and the width of gaps may
 * differ. Pages show lists as at a terminal, which leaves out empty columns.
 */
export function hasShape(output: string, expected: string): boolean {
  const lines = expected.trim().split('\n').map(shapeOf)
  let at = 0
  for (const line of output.split('\n').map((each) => each.trim())) {
    if (lines[at]?.test(line) || lines[at]?.test(asAtTerminal(line))) at += 1
  }
  return at === lines.length
}

/** Times of lists are ISO 8601 in a pipe. */
function asAtTerminal(line: string): string {
  return line.replaceAll(/(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?Z/g, '$1 $2 UTC')
}

function shapeOf(line: string): RegExp {
  const escaped = line.trim().replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  const loose = escaped
    .replaceAll(/…|<\w+>/g, '.*?')
    .replaceAll(/\d+/g, '\\d+')
    .replaceAll(/ {2,}/g, '(?:\\s+|\\t(?:[^\\t]*\\t)*)')
    .replaceAll(/ +/g, '\\s+')
  return new RegExp(`^${loose}(?:\\t.*)?$`)
}
