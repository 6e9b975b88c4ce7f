import { createInterface } from 'node:readline'
import { type Readable, Writable } from 'node:stream'
import { isJsonObject, type JsonObject } from '../core/json.ts'
import { usage } from './command.ts'
import type { Terminal } from './terminal.ts'

/** The value of an argument whose secret comes from stdin. */
const FROM_STDIN = '-'
/** Added to the error about a missing secret. */
const HOW_TO_GIVE =
  'Type it at a terminal, or pipe it to stdin. In a container, a terminal needs `exec -it`, and a pipe `exec -i`.'

/**
 * Adds secrets to the arguments: those that are `-`, and required ones that are missing. Asks at a
 * terminal, without showing the input, or else reads stdin: one line for each, in the order of the
 * arguments. As arguments, they would be in the list of processes and in the history of the shell.
 */
export async function askForSecrets(
  args: JsonObject,
  { properties, required }: { properties: Record<string, JsonObject>; required: readonly string[] },
  terminal: Terminal,
): Promise<JsonObject> {
  const missing = Object.entries(properties).filter(
    ([name, schema]) =>
      isSecret(schema) &&
      (args[name] === FROM_STDIN || (args[name] === undefined && required.includes(name))),
  )
  const secrets: JsonObject = {}
  await using lines = createLineReader()
  for (const [name] of missing) {
    const secret = process.stdin.isTTY ? await prompt(`${name}: `, terminal) : await lines.next()
    if (secret === '') throw usage(`No ${name} was given. ${HOW_TO_GIVE}`)
    secrets[name] = secret
  }
  return { ...args, ...secrets }
}

/** Whether an argument is a secret, by its JSON Schema. */
export function isSecret(schema: unknown): boolean {
  return isJsonObject(schema) && schema.format === 'password'
}

/** Reads a line without showing the input. Resolves with '' after Ctrl-C or at the end of input. */
function prompt(question: string, terminal: Terminal): Promise<string> {
  terminal.err(question)
  const discard = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: discard, terminal: true })
  return new Promise((resolve) => {
    lines.once('line', resolve).once('close', () => resolve(''))
    lines.once('SIGINT', () => lines.close())
  }).then((line) => {
    lines.close()
    terminal.err('\n')
    return String(line)
  })
}

/**
 * Reads lines with one reader: a second one would miss what the first has buffered. Not with
 * `readline`, which ends a line at U+2028 too.
 */
export function createLineReader(input: Readable = process.stdin) {
  const decoder = new TextDecoder()
  let chunks: AsyncIterator<Buffer> | undefined
  let left = ''
  return {
    /** Resolves with the next line, or '' at the end. */
    async next(): Promise<string> {
      chunks ??= input[Symbol.asyncIterator]()
      while (!left.includes('\n')) {
        const { value, done } = await chunks.next()
        if (done) break
        left += decoder.decode(value, { stream: true })
      }
      const [line = ''] = left.split('\n', 1)
      left = left.slice(line.length + 1)
      return line.replace(/\r$/, '')
    },
    [Symbol.asyncDispose]: async () => void (await chunks?.return?.()),
  }
}
