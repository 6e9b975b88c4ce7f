import { compilePattern } from '../core/pattern.ts'
import { noSuch } from '../lib/nearest.ts'
import type { Checker } from './checker.ts'
import { type Transcribe, transcribeSchema } from './schema/transcribe.ts'

/** Parses `transcribe:`. Reports unknown gateways. */
export function parseTranscribe(
  given: unknown,
  gateways: readonly string[],
  checker: Checker,
): Transcribe | undefined {
  if (given === undefined) return undefined
  const written = typeof given === 'string' ? { model: given } : given
  const parsed = checker.section(transcribeSchema, written, ['transcribe'])
  for (const [at, name] of parsed?.gateways.entries() ?? []) {
    if (gateways.some((each) => compilePattern(name).test(each))) continue
    checker.report(['transcribe', 'gateways', at], 'value', noSuch('gateway', name, gateways))
  }
  return parsed
}
