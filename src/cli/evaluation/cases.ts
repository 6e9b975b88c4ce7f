import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { check, findingsOf } from '../../config/checker.ts'
import { formatProblems, readYaml } from '../../config/yaml-file.ts'
import { TriviumError } from '../../core/errors.ts'
import { jsonObjectSchema, parseJson } from '../../core/json.ts'
import { compilePattern, isRegex, patternText } from '../../core/pattern.ts'
import { CASES_FILE, RECORD_FILE } from '../../core/skill.ts'
import { writeAtomically } from '../../lib/disk.ts'
import { withoutSecrets } from '../../lib/secrets.ts'
import { usage } from '../command.ts'

/** `/regex/`, or a text to find, ignoring case. */
const textPattern = z
  .string()
  .min(1)
  .transform((source) => {
    const glob = `*${source.replaceAll(/[\\*?[\]{}]/g, '\\$&')}*`
    return { source, pattern: isRegex(source) ? source : glob }
  })
  .pipe(z.object({ source: z.string(), pattern: patternText }))
  .transform(({ source, pattern }) => ({ source, test: compilePattern(pattern).test }))
const textPatterns = z.union([textPattern.transform((one) => [one]), z.array(textPattern)]).default([])
const tool = z.union([
  z
    .string()
    .min(1)
    .transform((name) => ({ name, args: {} })),
  z.strictObject({ name: z.string().min(1), args: jsonObjectSchema.default({}) }),
])

const caseSchema = z.strictObject({
  name: z.string().min(1).exactOptional(),
  /** The text of a message, or arguments. */
  input: z.union([z.string(), jsonObjectSchema]),
  from: z.string().min(1).default('tester'),
  /** Cases of the same conversation share a session. */
  conversation: z.string().min(1).exactOptional(),
  expect: z.strictObject({
    text: textPatterns,
    not: textPatterns,
    /** All tool calls in order; only the listed arguments are compared. */
    tools: z.array(tool).exactOptional(),
    tokens: z.int().min(1).exactOptional(),
    /** The code of the expected error. */
    error: z.string().min(1).exactOptional(),
  }),
})
const fileSchema = z.strictObject({ cases: z.array(caseSchema).min(1) })

/** A case of an evaluation. Its name is the given one, or its position. */
export type Case = z.output<typeof caseSchema> & { name: string }

/**
 * The recorded answers of models and tools per case, in the form of stored runs. `model`: the one
 * that answered.
 */
const recordSchema = z.object({
  version: z.literal(1),
  model: z.string(),
  cases: z.record(z.string(), z.record(z.string(), z.json())),
})
export type Recorded = z.infer<typeof recordSchema>

/**
 * Reads the cases beside a skill. Throws `usage` if there are none, and `config_invalid` with the
 * places of errors.
 */
export async function readCases(skillPath: string, cwd: string): Promise<Case[]> {
  const path = join(dirname(skillPath), CASES_FILE)
  if (!existsSync(path)) throw usage(`There are no cases: write ${path} (docs/models.md, Evaluations).`)
  const { yaml, problems } = await readYaml(path, cwd)
  if (!yaml) throw invalid(problems)
  const { data, issues } = check(fileSchema, yaml.value)
  if (!data) throw invalid(findingsOf(issues).map((one) => yaml.problem(one.path, one.what, one.message)))
  const cases = data.cases.map((one, index) => ({ ...one, name: one.name ?? `case ${index + 1}` }))
  const duplicate = cases.findIndex(
    ({ name }, index) => cases.findIndex((other) => other.name === name) !== index,
  )
  if (duplicate >= 0)
    throw invalid([yaml.problem(['cases', duplicate], 'value', 'another case has this name')])
  return cases
}

function invalid(problems: Parameters<typeof formatProblems>[0]): TriviumError {
  return new TriviumError('config_invalid', { details: formatProblems(problems) })
}

/** Reads the recording; undefined if there is none. Throws `usage` for an unreadable file. */
export function readRecord(skillPath: string): Recorded | undefined {
  const path = join(dirname(skillPath), RECORD_FILE)
  if (!existsSync(path)) return undefined
  const found = recordSchema.safeParse(parseJson(readFileSync(path, 'utf8')))
  if (found.data) return found.data
  throw usage(`${path} cannot be read; record it again with --record.`)
}

/** Writes the recording, without secrets of the configuration and the environment. */
export async function writeRecord(
  skillPath: string,
  record: Recorded,
  secrets: readonly string[],
): Promise<string> {
  const path = join(dirname(skillPath), RECORD_FILE)
  await writeAtomically(path, `${withoutSecrets(JSON.stringify(record, null, 2), secrets)}\n`)
  return path
}
