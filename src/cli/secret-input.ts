import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { isJsonObject, type JsonObject } from '../core/json.ts'
import { usage } from './command.ts'
import type { Terminal } from './terminal.ts'

/** Stands for a secret that comes from stdin. */
const FROM_STDIN = '-'
const HOW =
  'Type it at a terminal, or pipe it to stdin. In a container, a terminal needs `exec -it`, and a pipe `exec -i`.'

/**
 * Asks for secrets that are required and were not given, or as `-`: at a terminal without showing what is typed, else
 * as the first line of stdin. The list of processes and the history of the shell would show an argument.
 */
export async function askForSecrets(
  args: JsonObject,
  { properties, required }: { properties: Record<string, JsonObject>; required: readonly string[] },
  terminal: Terminal,
): Promise<JsonObject> {
  const wanted = Object.entries(properties).filter(
    ([name, schema]) =>
      isSecret(schema) &&
      (args[name] === FROM_STDIN || (args[name] === undefined && required.includes(name))),
  )
  const asked: JsonObject = {}
  for (const [name] of wanted) {
    const secret = process.stdin.isTTY ? await prompt(`${name}: `, terminal) : await firstLine()
    if (secret === '') throw usage(`No ${name} was given. ${HOW}`)
    asked[name] = secret
  }
  return { ...args, ...asked }
}

/** Whether an argument is a secret, by its JSON Schema. */
export function isSecret(schema: unknown): boolean {
  return isJsonObject(schema) && schema.format === 'password'
}

/** What is typed stays invisible. Empty after Ctrl-C or the end of input. */
function prompt(question: string, terminal: Terminal): Promise<string> {
  terminal.err(question)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true })
  return new Promise((resolve) => {
    lines.once('line', resolve).once('close', () => resolve(''))
    lines.once('SIGINT', () => lines.close())
  }).then((line) => {
    lines.close()
    terminal.err('\n')
    return String(line)
  })
}

async function firstLine(): Promise<string> {
  const lines = createInterface({ input: process.stdin })
  try {
    for await (const line of lines) return line
    return ''
  } finally {
    lines.close()
  }
}
