import { type Json, pathGet } from '../../core/json.ts'

/** Which shards a list leaves out, because they cannot be reached. */
export function missingShards(found: Json): string[] {
  const away = pathGet(found, 'away')
  return Array.isArray(away) ? [`Without shard ${away.join(', ')}: it cannot be reached.`] : []
}
