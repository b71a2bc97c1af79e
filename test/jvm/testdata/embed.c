/* A program with a JVM in it, as jsvc has one: it runs Say. Argument: the class path. */
#include <jni.h>
#include <stdio.h>

int main(int argc, char **argv) {
    char path[4096];
    JavaVM *vm;
    JNIEnv *env;
    JavaVMOption option;
    if (argc != 2)
        return 2;
    snprintf(path, sizeof path, "-Djava.class.path=%s", argv[1]);
    option.optionString = path;
    JavaVMInitArgs args = {JNI_VERSION_10, 1, &option, JNI_FALSE};
    if (JNI_CreateJavaVM(&vm, (void **)&env, &args) != JNI_OK)
        return 3;
    jclass say = (*env)->FindClass(env, "Say");
    jclass text = (*env)->FindClass(env, "java/lang/String");
    jmethodID run = (*env)->GetStaticMethodID(env, say, "main", "([Ljava/lang/String;)V");
    (*env)->CallStaticVoidMethod(env, say, run, (*env)->NewObjectArray(env, 0, text, NULL));
    (*vm)->DestroyJavaVM(vm);
    return 0;
}
