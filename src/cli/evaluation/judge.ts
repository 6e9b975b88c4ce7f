import { isJsonObject, type Json, objectsIn, parseJson, pathGet } from '../../core/json.ts'
import { counted } from '../../lib/counted.ts'
import { shorten } from '../terminal.ts'
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
  // Only calls of the skill itself: those of nested runs have longer keys.
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
  const lacking = error ? [] : expect.text.filter(({ test }) => !test(text))
  const wrong = [
    ...lacking.map(({ source }) => `the text does not contain ${source}: ${short(text)}`),
    ...expect.not
      .filter(({ test }) => test(text))
      .map(({ source }) => `the text contains ${source}: ${short(text)}`),
  ]
  if (expect.error !== error?.code)
    wrong.unshift(error ? `it failed: ${error.message}` : `it did not fail with ${expect.error}`)
  const isCalled = ({ name, args }: ToolUse, at: number) =>
    tools[at]?.name === name && holds(tools[at].args, args)
  if (expect.tools && !(expect.tools.length === tools.length && expect.tools.every(isCalled))) {
    const called = tools.map(({ name, args }) => `${name} ${short(JSON.stringify(args))}`)
    wrong.push(`other tools were called: ${called.join(', ') || 'none'}`)
  }
  if (expect.tokens !== undefined && tokens > expect.tokens)
    wrong.push(`${counted(tokens, 'token')}, over ${expect.tokens}`)
  return wrong
}

/** Whether a value contains all of `wanted`, at any depth. */
function holds(value: Json | undefined, wanted: Json): boolean {
  if (isJsonObject(wanted)) {
    return isJsonObject(value) && Object.entries(wanted).every(([key, one]) => holds(value[key], one))
  }
  if (!Array.isArray(wanted)) return value === wanted
  return (
    Array.isArray(value) && value.length === wanted.length && wanted.every((one, at) => holds(value[at], one))
  )
}

function short(text: string): string {
  return shorten(text, 200) || '(nothing)'
}
