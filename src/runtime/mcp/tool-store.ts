import { z } from 'zod'
import { jsonObjectSchema, toJson } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import type { RemoteTool } from './tool-list.ts'

/** Stored form of the hints. */
const hint = z.boolean().exactOptional()
const storedTools = z.array(
  z.object({
    name: z.string(),
    description: z.string().exactOptional(),
    annotations: z
      .object({
        title: z.string().exactOptional(),
        readOnlyHint: hint,
        destructiveHint: hint,
        idempotentHint: hint,
        openWorldHint: hint,
      })
      .exactOptional(),
    inputSchema: jsonObjectSchema,
  }),
)

/** Stores the tools of an MCP server, so that its skills are known while it is unreachable. */
export function createToolStore(kv: KeyValues, server: string) {
  const key = `mcp/tools/${server}`

  return {
    /** Undefined if the server was never reached. */
    read: async (): Promise<RemoteTool[] | undefined> =>
      storedTools.safeParse((await kv.get(key))?.value).data,
    async write(tools: readonly RemoteTool[]): Promise<void> {
      await kv.set(key, toJson(tools))
    },
  }
}
