import { compilePattern } from '../core/pattern.ts'
import { type Transcribe, transcribeSchema } from '../features/voice/schema.ts'
import { noSuch } from '../lib/nearest.ts'
import type { Checker } from './checker.ts'

/** Parses `transcribe:`. Reports unknown gateways. */
export function parseTranscribe(
  raw: unknown,
  gateways: readonly string[],
  checker: Checker,
): Transcribe | undefined {
  if (raw === undefined) return undefined
  const section = typeof raw === 'string' ? { model: raw } : raw
  const parsed = checker.section(transcribeSchema, section, ['transcribe'])
  for (const [index, name] of parsed?.gateways.entries() ?? []) {
    if (gateways.some((each) => compilePattern(name).test(each))) continue
    checker.report(['transcribe', 'gateways', index], 'value', noSuch('gateway', name, gateways))
  }
  return parsed
}
