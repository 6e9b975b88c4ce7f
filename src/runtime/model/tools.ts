import { readdir, readFile, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { JSONSchema7, ToolSet } from 'ai'
import type { Within } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { isJsonObject, type Json, type JsonObject, pathGet, toJson } from '../../core/json.ts'
import { CASES_FILE, RECORD_FILE, type Skill, type SkillContext, skillJsonSchema } from '../../core/skill.ts'
import { headOf } from '../../lib/head-of.ts'
import { createNameMatcher, isForeignTraffic, nameSpec, skillRunLater, toolNameOf } from '../names.ts'
import { meantBy } from '../prefix-skills.ts'
import type { RunRecord } from './run-record.ts'

/** What reaches beyond the conversation. A model gets it only by name: not by `*`, nor without `allowed-tools`. */
const OPERATOR = createNameMatcher(
  '*-pause *-resume run-cancel pause-list route-list message-* conversation-* dead-letter-* subscription-* approval-* session-* schedule-* audit-* call-* slack-installs* refused gateway-receive gateway-ack gateway-nack gateway-extend gateway-reconnect delegation-take delegation-accept',
)

/** The skills that there are, for models. */
export type Catalog = { names(): string[]; get(name: string): Skill | undefined }

/**
 * The other skills that `allowed-tools` names (else all but those of operators), its callbacks, a reader of the skill’s files. With a
 * `record` each call of one is made once, also over attempts.
 */
export async function createTools(
  skill: { name: string; metadata: JsonObject; files: Awaited<ReturnType<typeof findSkillFiles>> },
  ctx: SkillContext,
  catalog: Catalog,
  record: RunRecord | undefined,
): Promise<ToolSet> {
  const { dynamicTool, jsonSchema } = await import('ai')
  const allowed = createNameMatcher(nameSpec.parse(skill.metadata['allowed-tools'] ?? '*'))
  const isOffered = (tool: string) => {
    const { name } = meantBy(tool, {}, catalog.get)
    return allowed.matches(tool) && (allowed.names(tool) || ![tool, name].some(OPERATOR.matches))
  }
  const tools: ToolSet = {}
  const invoke = async (name: string, input: unknown, within: Within) => {
    const reason = `allowed-tools of ${skill.name} does not name it`
    const meant = meantBy(name, input, catalog.get)
    const later = skillRunLater(meant.name, meant.args)
    if (later !== undefined && !isOffered(later)) {
      throw new TriviumError('forbidden', { what: `${name} with the skill ${later}`, reason })
    }
    if (isForeignTraffic(name, input) && !allowed.names(name)) {
      throw new TriviumError('forbidden', { what: `${name} on everybody's messages`, reason })
    }
    return ctx.manager.invoke(name, input, within)
  }
  const add = (
    name: string,
    description: string,
    schema: JsonObject,
    hints: { repeatable: boolean; guarded: boolean },
    call: (name: string, input: unknown, within: Within) => unknown = invoke,
  ) => {
    tools[toolNameOf(name)] = dynamicTool({
      description,
      // zod made it: it is JSON Schema, only typed as any JSON object.
      inputSchema: jsonSchema(schema as JSONSchema7),
      execute(input, { toolCallId: id, abortSignal: signal = ctx.signal }) {
        const run = async (within: Within) => bounded(toJson(await call(name, input, within)))
        return record ? record.tool({ name, id, ...hints, signal }, run) : run({})
      },
    })
  }
  for (const name of catalog.names()) {
    const found = catalog.get(name)
    if (!found || name === skill.name || !isOffered(name)) continue
    add(name, found.description, toolSchema(skillJsonSchema(found)), hintsOf(found))
  }
  for (const ref of await ctx.services.callbacks.list(ctx.call.rootId)) {
    if (allowed.matches(ref))
      add(ref, 'Calls back whoever made it and returns the answer', { type: 'object' }, hintsOf({}))
  }
  if (skill.files.names.length > 0) {
    const description = `Reads a file of this skill. There are: ${skill.files.names.join(', ')}`
    const properties = { path: { type: 'string', enum: [...skill.files.names] } }
    const schema = { type: 'object', properties, required: ['path'], additionalProperties: false }
    const hints = { repeatable: true, guarded: false }
    add(FILE_TOOL, description, schema, hints, (_, input) => skill.files.read(String(pathGet(input, 'path'))))
  }
  return tools
}

/** `repeatable`, by the names of MCP in `metadata.annotations`: it may run a second time without anybody being asked. */
function hintsOf({ metadata }: Pick<Skill, 'metadata'>) {
  const says = (hint: string) => pathGet(metadata?.annotations, hint) === true
  return {
    repeatable: says('readOnlyHint') || says('idempotentHint'),
    guarded: Boolean(metadata?.approval),
  }
}

/** What a model gets of the answer of a tool, in characters of JSON. */
const LONGEST_ANSWER = 256_000

function bounded(answer: Json): Json {
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
  return text.length > LONGEST_ANSWER ? headOf(text, LONGEST_ANSWER) : answer
}

/** No skill has this name: theirs have no underscore. */
const FILE_TOOL = 'read_skill_file'

/** What is not for the model. */
const OWN_FILES = ['SKILL.md', CASES_FILE, RECORD_FILE]

const MAX_FILES = 100
const MAX_BYTES = 256 * 1024

/** The files beside a `SKILL.md`, which its prompt may refer to, as they are when it is loaded. Links and hidden files do not count. */
export async function findSkillFiles(folder: string) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const names = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((name) => !OWN_FILES.includes(name) && !/(^|\/)\./.test(name))
    .sort()
    .slice(0, MAX_FILES)
  return {
    /** Paths within the skill's folder, with `/`. */
    names,
    /** The text of one of them. Throws for any other path, and for a file over 256 KB. */
    async read(name: string): Promise<string> {
      if (!names.includes(name)) throw new Error(`this skill has no file ${name}`)
      const path = join(folder, name)
      const { size } = await stat(path)
      if (size > MAX_BYTES) throw new Error(`${name} is over ${MAX_BYTES} bytes`)
      return readFile(path, 'utf8')
    },
  }
}

/** A skill’s JSON Schema for models and MCP. Some refuse alternatives at the top: they become one object that allows more. */
export function toolSchema({ anyOf = [], oneOf = [], allOf = [], ...rest }: JsonObject): JsonObject {
  const branches = [anyOf, oneOf, allOf].flat().filter(isJsonObject).map(toolSchema)
  if (branches.length === 0) return { ...rest, type: 'object' }
  const known = new Map<string, Json[]>()
  for (const [name, one] of branches.flatMap(({ properties }) => Object.entries<Json>(Object(properties)))) {
    const others = known.get(name) ?? []
    if (!others.some((other) => isDeepStrictEqual(other, one))) known.set(name, [...others, one])
  }
  // What the alternatives know differently, such as what tells them apart, may be any of theirs.
  const merged = [...known].map(([name, [one = {}, ...more]]) => [
    name,
    more.length > 0 ? { anyOf: [one, ...more] } : one,
  ])
  const required = branches
    .map((one) => new Set([one.required ?? []].flat()))
    .reduce((all, others) => all.intersection(others))
  return { ...rest, type: 'object', properties: Object.fromEntries(merged), required: [...required] }
}
