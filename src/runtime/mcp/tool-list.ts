import type { Client } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import type { McpFault } from '../../core/mcp.ts'
import { mendInputSchema } from './mend-schema.ts'

/** A stored tool, so that its skill is known while its server is unreachable. */
export type RemoteTool = {
  name: string
  description?: string
  annotations?: ToolHints
  inputSchema: JsonObject
}

export type ToolHints = {
  title?: string
  readOnlyHint?: boolean
  destructiveHint?: boolean
  idempotentHint?: boolean
  openWorldHint?: boolean
}

/** The tools of a server, and problems with them. */
export type ToolList = { tools: RemoteTool[]; faults: McpFault[] }

/** Maximum number of tools per server; further ones are ignored. */
const MAX_TOOLS = 1_000
const MAX_PAGES = 100
const MAX_FAULTS = 50
/** Maximum characters of a name. Tools with longer names are ignored. */
const MAX_NAME = 1_000
/** Maximum characters of a title or description. Longer ones are cut. */
const MAX_TEXT = 4_000

const page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.unknown().optional() })

/**
 * Requests a server's tools. The library rejects a whole list for one invalid tool; here each tool
 * is checked separately. Throws if the server does not return a list. `timeout` (ms) is for each
 * page.
 */
export async function listTools(
  client: Client,
  options: { timeout: number; signal: AbortSignal },
): Promise<ToolList> {
  if (!client.getServerCapabilities()?.tools) return { tools: [], faults: [] }
  const listed: unknown[] = []
  const seenCursors = new Set<string>()
  let cursor: string | undefined
  do {
    const params = cursor === undefined ? {} : { params: { cursor } }
    const { tools, nextCursor } = await client.request({ method: 'tools/list', ...params }, page, options)
    listed.push(...tools)
    // A repeated cursor would be an endless list.
    cursor = typeof nextCursor === 'string' && !seenCursors.has(nextCursor) ? nextCursor : undefined
    if (cursor !== undefined) seenCursors.add(cursor)
  } while (cursor !== undefined && seenCursors.size < MAX_PAGES && listed.length < MAX_TOOLS)
  return readTools(listed)
}

/** Reads the usable tools of a server, and reports the others. */
export function readTools(listed: readonly unknown[]): ToolList {
  const tools = new Map<string, RemoteTool>()
  const faults: McpFault[] = []
  const addFault = (tool: string, reason: string, skipped: boolean) => {
    if (faults.length < MAX_FAULTS) faults.push({ tool: tool.slice(0, 100), reason, skipped })
  }
  const skip = (tool: string, reason: string) => addFault(tool, reason, true)
  if (listed.length > MAX_TOOLS) skip(`tools after the first ${MAX_TOOLS}`, 'there are too many')
  for (const [at, one] of listed.slice(0, MAX_TOOLS).entries()) {
    const label = `tool ${at + 1}`
    if (!isJsonObject(one)) skip(label, 'it is not an object')
    else if (typeof one.name !== 'string' || one.name === '') skip(label, 'it has no name')
    else if (one.name.length > MAX_NAME) skip(one.name, `its name has ${one.name.length} characters`)
    else if (tools.has(one.name)) skip(one.name, 'an earlier tool has the same name')
    else {
      const read = readTool(one.name, one)
      if (read.tool) tools.set(one.name, read.tool)
      for (const reason of read.faults) addFault(one.name, reason, !read.tool)
    }
  }
  return { tools: [...tools.values()], faults }
}

/** Reads the definition of a tool. If the result has no `tool`, the definition is unusable. */
function readTool(name: string, given: JsonObject): { tool?: RemoteTool; faults: string[] } {
  const mended = mendInputSchema(given.inputSchema)
  if (!mended) return { faults: ['its inputSchema does not accept objects, but arguments are an object'] }
  const faults = [...mended.faults]
  const hints = readHints(given.annotations, faults)
  const title = textOf(given.title)
  if (title !== undefined) hints.title ??= title
  const description = textOf(given.description)
  if (description === undefined && (given.description ?? '') !== '')
    faults.push('its description is not text')
  const tool: RemoteTool = { name, inputSchema: mended.schema }
  if (description !== undefined) tool.description = description
  if (Object.keys(hints).length > 0) tool.annotations = hints
  return { tool, faults }
}

function readHints(given: unknown, faults: string[]): ToolHints {
  if (given === undefined || given === null) return {}
  if (!isJsonObject(given)) {
    faults.push('its annotations are not an object')
    return {}
  }
  const hints: ToolHints = {}
  const title = textOf(given.title)
  if (title !== undefined) hints.title = title
  for (const name of HINTS) {
    const value = given[name]
    if (value === undefined || value === null) continue
    const hint = typeof value === 'boolean' ? value : BOOLEAN_WORDS.get(String(value).trim().toLowerCase())
    if (typeof value !== 'boolean') faults.push(`its ${name} is not a boolean`)
    // A tool with an unclear `destructiveHint` counts as destructive, so that it needs an approval.
    const assumed = name === 'destructiveHint' ? true : undefined
    const understood = hint ?? assumed
    if (understood !== undefined) hints[name] = understood
  }
  return hints
}

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const
const BOOLEAN_WORDS = new Map([
  ...['true', 'yes', '1'].map((word) => [word, true] as const),
  ...['false', 'no', '0'].map((word) => [word, false] as const),
])

/** A text that is not blank, cut to its maximum; else undefined. */
function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.slice(0, MAX_TEXT) : undefined
}
