/** The functions reflect-metadata adds to Reflect; Nest loads it. */
interface MetadataReflection {
  getOwnMetadataKeys(target: object): unknown[]
  getOwnMetadata(key: unknown, target: object): unknown
  defineMetadata(key: unknown, value: unknown, target: object): void
}

/** Nest's decorators store metadata on the function; those applied below a replacement have run already. */
export function copyMetadata(from: object, to: object): void {
  const reflection = Reflect as unknown as MetadataReflection
  for (const key of reflection.getOwnMetadataKeys(from)) {
    reflection.defineMetadata(key, reflection.getOwnMetadata(key, from), to)
  }
}
