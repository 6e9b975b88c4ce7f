import type { Installation } from '@slack/oauth'
import { z } from 'zod'
import { allKeys } from '../../../src/core/all-keys.ts'
import { parseJson, textAt } from '../../../src/core/json.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { createVault } from '../../../src/lib/vault.ts'

/** An installation with a bot token. */
export type Installed = Installation & Required<Pick<Installation, 'bot'>>

export const installedSchema = z.custom<Installed>((value) => textAt(value, 'bot.token') !== undefined)

/** `at`: time of the installation (Unix ms). */
const recordSchema = z.object({ at: z.number(), installation: installedSchema })

type InstallRecord = z.infer<typeof recordSchema>

export type StoredInstall = InstallRecord & { version: number }

export type InstallRecords = ReturnType<typeof createInstallRecords>

/**
 * The installations of an app by workspace or organisation id, encrypted in the store for all
 * daemons.
 */
export function createInstallRecords({ gateway, kv }: Pick<TransportDeps, 'gateway' | 'kv'>, secret: string) {
  const prefix = `slack/${gateway}/install/`
  const vault = createVault(secret, 'trivium slack installations')
  const nameOf = (id: string) => prefix + id

  return {
    nameOf,
    ids: async () => (await allKeys(kv, prefix)).map((key) => key.slice(prefix.length)),
    /** Resolves with undefined if there is none, or it was encrypted with another secret. */
    async read(id: string): Promise<StoredInstall | undefined> {
      const entry = await kv.get(nameOf(id))
      const text = typeof entry?.value === 'string' ? vault.decrypt(entry.value) : undefined
      const { data } = recordSchema.safeParse(parseJson(text ?? ''))
      return entry && data && { ...data, version: entry.version }
    },
    /** With `ifVersion`, writes only if the record is unchanged since that version. */
    async write(id: string, record: InstallRecord, ifVersion?: number): Promise<void> {
      await kv.set(nameOf(id), vault.encrypt(JSON.stringify(record)), defined({ ifVersion }))
    },
    remove: (id: string) => kv.delete(nameOf(id)),
  }
}
