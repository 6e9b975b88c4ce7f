import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { isJsonObject, parseJson } from '../../core/json.ts'
import type { McpServer } from '../../core/mcp.ts'
import { defined } from '../../lib/defined.ts'
import { orNothing, writeAtomically } from '../../lib/disk.ts'

/** A stored login. The MCP library validates `client` and `tokens` when it uses them. */
const storedLogin = z.object({
  /**
   * The URL of the server. If it has changed, the login does not count: the tokens are not sent.
   */
  url: z.string(),
  redirectUrl: z.string().exactOptional(),
  client: z.custom<StoredOAuthClientInformation>(isJsonObject).exactOptional(),
  tokens: z.custom<StoredOAuthTokens>(isJsonObject).exactOptional(),
})

export type StoredLogin = z.output<typeof storedLogin>

export type LoginFiles = ReturnType<typeof createLoginFiles>

/**
 * The logins of MCP servers, in one file each in the data directory, readable by the owner only.
 */
export function createLoginFiles(dataDir: string) {
  const dir = join(dataDir, 'mcp')

  const read = async ({ name, url = '' }: McpServer): Promise<StoredLogin> => {
    const text = await readFile(join(dir, `${name}.json`), 'utf8').catch(orNothing)
    const { data } = storedLogin.safeParse(parseJson(text ?? ''))
    return data?.url === url ? data : { url }
  }
  /** Changes values of a stored login; undefined removes one. */
  const change = async (server: McpServer, values: { [K in keyof StoredLogin]?: unknown }) => {
    const login = storedLogin.parse(defined({ ...(await read(server)), ...values }))
    await mkdir(dir, { recursive: true, mode: 0o700 })
    await writeAtomically(join(dir, `${server.name}.json`), `${JSON.stringify(login, null, 2)}\n`)
  }

  return { read, change }
}
