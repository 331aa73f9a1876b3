# An engine without a server.
import sglang as sgl


def main():
    llm = sgl.Engine(
        model_path="deepseek-ai/DeepSeek-V3",
        tp_size=8,
        dp_size=8,
        enable_dp_attention=True,
        ep_size=8,
        mem_fraction_static=0.8,
        max_running_requests=512,
    )
    print(llm.generate("Hello"))


if __name__ == "__main__":
    main()
