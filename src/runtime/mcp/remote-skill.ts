import type { CallToolResult } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { TriviumError } from '../../core/errors.ts'
import { isJsonObject, type JsonObject, toJson } from '../../core/json.ts'
import type { McpServer } from '../../core/mcp.ts'
import type { Attachment } from '../../core/message.ts'
import type { Skill, SkillContext } from '../../core/skill.ts'
import { defined } from '../../lib/defined.ts'
import { createForeignCheck } from '../../lib/json-schema.ts'
import { createNameMatcher } from '../names.ts'
import type { McpConnection } from './connection.ts'
import type { RemoteTool } from './tool-list.ts'

/**
 * Makes skills of the tools that `tools:` of the server selects. Characters that names cannot have
 * become `-`, and duplicates are numbered.
 */
export function remoteSkills(
  server: McpServer,
  tools: readonly RemoteTool[],
  call: McpConnection['call'],
): Skill[] {
  const selected = createNameMatcher(server.tools)
  const usedNames = new Set<string>()
  return tools
    .filter(({ name }) => selected.matches(name))
    .map((tool) => {
      const plain = tool.name.replaceAll(/[^\w.-]/g, '-').slice(0, MAX_NAME)
      let name = plain
      for (let count = 2; usedNames.has(name); count++) name = `${plain}-${count}`
      usedNames.add(name)
      return remoteSkill(`${server.name}.${name}`, server, tool, call)
    })
}

/** Maximum characters of the name of a tool in the name of its skill. */
const MAX_NAME = 100
/** Maximum characters of the description of a skill. */
const MAX_DESCRIPTION = 4_000
/** Maximum characters of the description in an approval. */
const MAX_SENTENCE = 200

function remoteSkill(name: string, server: McpServer, tool: RemoteTool, call: McpConnection['call']): Skill {
  const { annotations = {} } = tool
  const { readOnlyHint, destructiveHint, idempotentHint } = annotations
  const description = tool.description ?? annotations.title ?? `The tool ${tool.name} of ${server.name}`
  // Tools without hints count as harmless here, although they are destructive by the protocol.
  const isDestructive = readOnlyHint !== true && (destructiveHint ?? readOnlyHint === false)
  const { approval, approvers, access, timeout, maxResult } = server
  const needsApproval =
    approval === 'always' ||
    (approval === 'destructive' && isDestructive) ||
    (Array.isArray(approval) && createNameMatcher(approval).matches(tool.name))
  const repeatable = readOnlyHint === true || idempotentHint === true
  return {
    name,
    description: description.slice(0, MAX_DESCRIPTION),
    args: argsOf(tool.inputSchema),
    metadata: {
      annotations: toJson(annotations),
      timeout,
      ...(needsApproval && { approval: { title: `Run ${name}: ${firstSentence(description)}`, approvers } }),
      ...defined({ access }),
    },
    async run(ctx) {
      const args = isJsonObject(ctx.args) ? ctx.args : {}
      const result = await call(tool.name, args, {
        signal: ctx.signal,
        repeatable,
        inputSchema: tool.inputSchema,
      })
      const failed = (reason: string) =>
        new TriviumError('mcp_failed', { server: server.name, tool: tool.name, reason })
      if (Buffer.byteLength(JSON.stringify(result)) > maxResult) {
        throw failed(`its result is over the limit of ${maxResult} bytes (max-result)`)
      }
      if (result.isError) throw failed(textOf(result) || 'it gave no reason')
      return skillResultOf(result, ctx)
    },
  }
}

/**
 * The text up to the first period or line break. That is enough: approvals show the arguments too.
 */
function firstSentence(description: string): string {
  const text = description.trimStart()
  const end = text.search(/[.\n]/)
  return text.slice(0, end > 0 ? Math.min(end, MAX_SENTENCE) : MAX_SENTENCE).trim()
}

/** The argument schema from the server. Checks what can be compiled here. */
function argsOf(inputSchema: JsonObject): z.ZodType {
  const { $schema: _, ...schema } = inputSchema
  // The server validates anyway, including anything that cannot be checked here.
  const check = createForeignCheck(schema)
  // A refinement would not do: it gives the schema a parent, which zod would convert, instead of
  // using the JSON Schema below.
  const args = z.looseObject({}).transform((given, context) => {
    const faults = check(given)
    if (!faults) return given
    for (const { path, message } of faults) {
      context.addIssue({ code: 'custom', path, message, input: given })
    }
    return z.NEVER
  })
  args._zod.toJSONSchema = () => ({ ...schema, type: 'object' })
  return args
}

/** The result of the skill: structured content, or else text. With files, it has all of them. */
async function skillResultOf(result: CallToolResult, { artifacts }: SkillContext): Promise<unknown> {
  const attachments: Attachment[] = []
  for (const [at, part] of result.content.entries()) {
    const file = fileOf(part)
    if (!file) continue
    const extension = file.type.split(/[/+;]/)[1] ?? 'bin'
    const name = file.name ?? `${part.type}-${at + 1}.${extension}`
    attachments.push(await artifacts.save(name, file.type, Buffer.from(file.data, 'base64')))
  }
  const text = textOf(result)
  const content = result.structuredContent === undefined ? text : toJson(result.structuredContent)
  if (attachments.length === 0) return content
  return { ...(isJsonObject(content) ? content : {}), text, attachments }
}

/** The file in a part of a tool result; undefined for other parts. `data`: the bytes as base64. */
function fileOf(part: CallToolResult['content'][number]) {
  if (part.type === 'image' || part.type === 'audio')
    return { data: part.data, type: part.mimeType, name: undefined }
  if (part.type !== 'resource' || !('blob' in part.resource)) return undefined
  const { blob: data, mimeType: type = 'application/octet-stream', uri } = part.resource
  return { data, type, name: /[^/]+$/.exec(uri)?.[0] }
}

function textOf({ content }: CallToolResult): string {
  const texts = content.flatMap((part) => {
    if (part.type === 'text') return part.text
    if (part.type === 'resource_link') return part.uri
    return part.type === 'resource' && 'text' in part.resource ? part.resource.text : []
  })
  return texts.join('\n')
}
