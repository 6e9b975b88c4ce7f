import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { stringify } from 'yaml'
import { main } from '../../src/cli/program.ts'
import { hostDaemon } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { mappingOf, merged } from './yaml.ts'

type Said = { code: number; out: string; err: string }

/** Words of commands that run until they are interrupted, or until an event arrives. */
const RUNS_ON = /^(mcp|top|tail|--follow|--no-ack)$/

/**
 * A command that only exists in these tests: adds YAML to routes.yaml, as a reader does in an
 * editor.
 */
export const MERGE = '@merge'

/** The answer to commands that ask for a secret. */
export const TYPED = 'the-secret-of-the-provider'

/**
 * Bash that sends `trivium …` and `npx trivium …` to the commands below. `npm install` does
 * nothing, and other commands of npm fail.
 */
const PRELUDE = `
trivium() {
  local words=() word
  for word in "$@"; do words+=(--data-urlencode "word=$word"); done
  eval "$(command curl -q -sS --unix-socket "$COMMANDS" --data-urlencode "cwd=$PWD" "\${words[@]}" http://commands/)"
}
npx() { if [ "$1" = --yes ]; then shift; fi; if [ "$1" = -p ]; then shift 2; fi; if [ "$1" = trivium ]; then shift; fi; trivium "$@"; }
npm() { [ "$1" = install ]; }
`

/**
 * Runs the `trivium` commands of a shell in this process. That takes a tenth of the processor time
 * of starting a process for each command. These commands have a process of their own: those that
 * run until they are interrupted, those that ask for a secret, and with `startsProcess` also `start`.
 * `bin`: trivium.js of the package.
 */
export async function serveCommands(options: {
  bin: string
  socket: string
  env: Record<string, string>
  startsProcess: boolean
}) {
  const { bin, socket, env, startsProcess } = options
  const children = new Set<ChildProcess>()
  const hosted = new Set<() => unknown>()
  const launch = (words: readonly string[], cwd: string) => {
    const child = spawn(process.execPath, [bin, ...words], { cwd, env })
    children.add(child)
    child.on('exit', () => children.delete(child))
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        output += chunk
      })
    return { child, output: () => output }
  }
  const startHere = (cwd: string): Promise<Said> =>
    hostDaemon(cwd, env, hosted).then(
      (daemon) => ({ code: 0, out: daemon.output(), err: '' }),
      (error) => ({ code: 1, out: '', err: String(error) }),
    )
  const startProcess = async (cwd: string): Promise<Said> => {
    const { child, output } = launch(['start'], cwd)
    const file = join(cwd, '.trivium', 'daemon.json')
    // It writes the file before it prints its addresses.
    const isReady = () =>
      / is ready /.test(output()) &&
      existsSync(file) &&
      JSON.parse(readFileSync(file, 'utf8')).pid === child.pid
    await until(() => child.exitCode !== null || isReady(), 'a daemon that is ready', 100_000)
    return { code: child.exitCode ?? 0, out: output(), err: '' }
  }
  const runHere = async (words: readonly string[], cwd: string): Promise<Said> => {
    const output = { out: '', err: '' }
    const io = {
      env,
      cwd,
      out(piece: string) {
        output.out += piece
      },
      err(piece: string) {
        output.err += piece
      },
    }
    return { code: await main([...words], io), ...output }
  }
  /** Runs a command until it has printed something, and sends messages meanwhile. */
  const listen = async (words: readonly string[], cwd: string): Promise<Said> => {
    const { child, output } = launch(words, cwd)
    if (words[0] === 'mcp') child.stdin.end()
    else
      while (output() === '' && child.exitCode === null) {
        await runHere(['message', 'cli', 'something happens', '--wait', '0'], cwd)
        await Promise.race([once(child.stdout, 'data'), once(child, 'exit'), pause(1_000)])
      }
    if (words.includes('--follow')) child.kill()
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    return { code: child.exitCode ?? 0, out: output(), err: '' }
  }
  /** A command that asks for a secret. */
  const asked = async (words: readonly string[], cwd: string): Promise<Said> => {
    const { child, output } = launch(words, cwd)
    child.stdin.end(`${TYPED}\n`)
    const [code] = await once(child, 'close')
    return { code: code ?? 1, out: output(), err: '' }
  }
  const run = async (words: readonly string[], cwd: string): Promise<Said> => {
    if (words[0] === 'start') return startsProcess ? startProcess(cwd) : startHere(cwd)
    if (words[0] === 'wscat') return talk(words.at(-1) ?? '')
    if (words[0] === MERGE) return merge(words[1] ?? '', cwd)
    if (words.slice(0, 2).join(' ') === 'refusal try') return asked(words, cwd)
    return words.some((word) => RUNS_ON.test(word)) ? listen(words, cwd) : runHere(words, cwd)
  }

  const server = createServer(async (request, response) => {
    const form = new URLSearchParams(await text(request))
    const { code, out, err } = await run(form.getAll('word'), form.get('cwd') ?? '')
    // `trouble list` exits with 1 if it lists an error, which a page about it expects.
    const listsTroubles = code === 1 && form.get('word') === 'trouble'
    response.end(`printf %s ${quote(out)}; printf %s ${quote(err)} >&2; (exit ${listsTroubles ? 0 : code})\n`)
  })
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  return {
    /** The beginning of a script. */
    prelude: `COMMANDS=${quote(socket)}\n${PRELUDE}`,
    run,
    /** Ends all daemons and processes, and resolves with the exit codes of the processes. */
    async close() {
      const codes: (number | null)[] = []
      for (const end of hosted) await end()
      for (const child of children) {
        child.kill()
        const [code] = await once(child, 'exit')
        codes.push(code)
      }
      server.close()
      return codes
    },
  }
}

function merge(text: string, cwd: string): Said {
  const file = join(cwd, 'routes.yaml')
  writeFileSync(file, stringify(merged(mappingOf(readFileSync(file, 'utf8')), mappingOf(text))))
  return { code: 0, out: '', err: '' }
}

/** Connects to a WebSocket as `wscat` does, and says hello. */
async function talk(url: string): Promise<Said> {
  const socket = new WebSocket(url)
  const lines: string[] = []
  const isAnswered = () => lines.some((line) => line.includes('"inReplyTo"'))
  socket.on('message', (data) => {
    if (lines.length === 0) {
      const hello = '{"type":"message","id":"1","text":"hello"}'
      socket.send(hello)
      lines.push(`< ${data}`, `> ${hello}`)
    } else lines.push(`< ${data}`)
  })
  await once(socket, 'open')
  await until(isAnswered, 'a reply over the WebSocket')
  socket.terminate()
  return { code: 0, out: `${lines.join('\n')}\n`, err: '' }
}

export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
