import { isJsonObject, type Json, objectsIn, parseJson, pathGet } from '../../core/json.ts'
import { counted } from '../../lib/counted.ts'
import { shorten } from '../../lib/short-text.ts'
import type { Case } from './cases.ts'

/** The outcome of a case: its end, and the stored entries of its run. */
export type Outcome = {
  text: string
  error?: { code: string; message: string }
  entries: Record<string, Json>
}

/** A tool call of a model. */
export type ToolUse = { name: string; args: Json }

/** The tools that a run called, in order, and its input and output tokens. */
export function usesOf(entries: Outcome['entries']): { tools: ToolUse[]; tokens: number } {
  // A step of the skill itself has a key such as `sums/0`; those of nested runs have more parts.
  const numberOf = (name: string) => Number(/^[^/]+\/(\d+)$/.exec(name)?.[1])
  const steps = Object.keys(entries)
    .filter((name) => !Number.isNaN(numberOf(name)))
    .sort((a, b) => numberOf(a) - numberOf(b))
  const parts = steps.flatMap((name) => objectsIn(pathGet(entries[name], 'parts')))
  const tools = parts
    .filter(({ type }) => type === 'tool-call')
    .map(({ toolName, input }) => ({ name: String(toolName), args: parseJson(String(input)) ?? null }))
  const tokens = parts
    .filter(({ type }) => type === 'finish')
    .flatMap(({ usage }) => [pathGet(usage, 'inputTokens.total'), pathGet(usage, 'outputTokens.total')])
    .reduce<number>((sum, count) => sum + (Number(count) || 0), 0)
  return { tools, tokens }
}

/**
 * Compares an outcome with the expectations of a case. Returns the differences, one sentence each;
 * empty if it passed.
 */
export function judge({ expect }: Case, { text, error, entries }: Outcome): string[] {
  const { tools, tokens } = usesOf(entries)
  const missing = error ? [] : expect.text.filter(({ test }) => !test(text))
  const differences = [
    ...missing.map(({ source }) => `the text does not contain ${source}: ${short(text)}`),
    ...expect.not
      .filter(({ test }) => test(text))
      .map(({ source }) => `the text contains ${source}: ${short(text)}`),
  ]
  if (expect.error !== error?.code)
    differences.unshift(error ? `it failed: ${error.message}` : `it did not fail with ${expect.error}`)
  const isCalled = ({ name, args }: ToolUse, index: number) =>
    tools[index]?.name === name && contains(tools[index].args, args)
  if (expect.tools && !(expect.tools.length === tools.length && expect.tools.every(isCalled))) {
    const called = tools.map(({ name, args }) => `${name} ${short(JSON.stringify(args))}`)
    differences.push(`the calls of tools differ: ${called.join(', ') || 'none'}`)
  }
  if (expect.tokens !== undefined && tokens > expect.tokens)
    differences.push(`${counted(tokens, 'token')}, over ${expect.tokens}`)
  return differences
}

/** Whether a value equals `expected`. Its objects may have further keys, at any depth. */
function contains(value: Json | undefined, expected: Json): boolean {
  if (isJsonObject(expected)) {
    if (!isJsonObject(value)) return false
    return Object.entries(expected).every(([key, one]) => contains(value[key], one))
  }
  if (!Array.isArray(expected)) return value === expected
  if (!Array.isArray(value) || value.length !== expected.length) return false
  return expected.every((one, index) => contains(value[index], one))
}

/** Maximum characters of a text in a difference. */
const MAX_SHOWN = 200

function short(text: string): string {
  return shorten(text, MAX_SHOWN) || '(nothing)'
}
