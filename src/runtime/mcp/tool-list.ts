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
const MOST_TOOLS = 1_000
const MOST_PAGES = 100
const MOST_FAULTS = 50
const LONGEST_NAME = 1_000
const LONGEST_TEXT = 4_000

const page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.unknown().optional() })

/**
 * Requests a server's tools. The library rejects a whole list for one invalid tool; here each tool is checked separately. Throws if
 * the server does not return a list.
 */
export async function listTools(client: Client, timeout: number): Promise<ToolList> {
  if (!client.getServerCapabilities()?.tools) return { tools: [], faults: [] }
  const given: unknown[] = []
  const seen = new Set<string>()
  let cursor: string | undefined
  do {
    const params = cursor === undefined ? {} : { params: { cursor } }
    const { tools, nextCursor } = await client.request({ method: 'tools/list', ...params }, page, { timeout })
    given.push(...tools)
    cursor = typeof nextCursor === 'string' && !seen.has(nextCursor) ? nextCursor : undefined
    if (cursor !== undefined) seen.add(cursor)
  } while (cursor !== undefined && seen.size < MOST_PAGES && given.length < MOST_TOOLS)
  return readTools(given)
}

/** Reads the usable tools of a server, and reports the others. */
export function readTools(given: readonly unknown[]): ToolList {
  const tools = new Map<string, RemoteTool>()
  const faults: McpFault[] = []
  const note = (tool: string, reason: string, skipped: boolean) => {
    if (faults.length < MOST_FAULTS) faults.push({ tool: tool.slice(0, 100), reason, skipped })
  }
  if (given.length > MOST_TOOLS) note(`tools after the first ${MOST_TOOLS}`, 'there are too many', true)
  for (const [at, one] of given.slice(0, MOST_TOOLS).entries()) {
    const label = `tool ${at + 1}`
    if (!isJsonObject(one)) note(label, 'it is not an object', true)
    else if (typeof one.name !== 'string' || one.name === '') note(label, 'it has no name', true)
    else if (one.name.length > LONGEST_NAME)
      note(one.name, `its name has ${one.name.length} characters`, true)
    else if (tools.has(one.name)) note(one.name, 'an earlier tool has the same name', true)
    else {
      const read = readTool(one.name, one)
      if (read.tool) tools.set(one.name, read.tool)
      for (const reason of read.faults) note(one.name, reason, !read.tool)
    }
  }
  return { tools: [...tools.values()], faults }
}

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
    const said = given[name]
    const hint = typeof said === 'boolean' ? said : WORDS.get(String(said).trim().toLowerCase())
    if (typeof said !== 'boolean' && said !== undefined && said !== null)
      faults.push(`its ${name} is not a boolean`)
    if (hint !== undefined) hints[name] = hint
    // In doubt, ask for an approval.
    else if (name === 'destructiveHint' && said !== undefined && said !== null) hints[name] = true
  }
  return hints
}

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const
const WORDS = new Map([
  ...['true', 'yes', '1'].map((word) => [word, true] as const),
  ...['false', 'no', '0'].map((word) => [word, false] as const),
])

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.slice(0, LONGEST_TEXT) : undefined
}
