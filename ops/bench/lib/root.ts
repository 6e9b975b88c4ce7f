import { join } from 'node:path'

/** This clone. */
export const ROOT = join(import.meta.dirname, '..', '..', '..')
