import { join } from 'node:path'

/** The root folder of this clone. */
export const ROOT = join(import.meta.dirname, '..', '..', '..')
